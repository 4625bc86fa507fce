"""Runs whose bodies do what they are told, for any trees of them, and what is asked of all money afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import sys
from collections.abc import Callable
from typing import Any, Final

import dvergr_nb as d
from dvergr_nb.records.money import Usage

BUSY: Final = 60
"""After how many acts much is going on."""
FLOWS = """
    SELECT wallet, CAST(sum(amount) AS BIGINT) AS amount FROM (
        SELECT target AS wallet, amount FROM dv.transfers WHERE target IS NOT NULL
        UNION ALL SELECT source, -amount FROM dv.transfers WHERE source IS NOT NULL
    ) GROUP BY wallet
"""
LAW_11 = f"""
    SELECT
        (SELECT coalesce(sum(amount) FILTER (kind = 'mint'), 0) - coalesce(sum(amount) FILTER (kind = 'consume'), 0)
         FROM dv.transfers),
        (SELECT coalesce(sum(amount), 0) FROM ({FLOWS})),
        (SELECT coalesce(min(amount), 0) FROM ({FLOWS}))
"""  # noqa: S608  # of constants
LEFT_WITH_THE_DEAD = f"""
    SELECT coalesce(sum(abs(amount)), 0) FROM ({FLOWS}) AS flows JOIN dv.runs AS r ON r.id = flows.wallet
    WHERE r.status NOT IN ('running', 'waiting')
"""  # noqa: S608  # of constants


def check_money(session: Any) -> None:
    """Law 11 by SQL: all wallets hold what was minted less what was consumed, none below nothing, those of the dead nothing."""
    session.store.flush(20)
    ((should, held, least),) = session.store.read(lambda con: con.execute(LAW_11).fetchall())
    ((left,),) = session.store.read(lambda con: con.execute(LEFT_WITH_THE_DEAD).fetchall())
    assert (held, least >= 0, left) == (should, True, 0)


class Obeying:
    """The body of a job: charges, hires, and ends as it is told."""

    def __init__(self) -> None:
        self._orders: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._done = asyncio.Event()
        self.handle: Any = None

    async def __call__(self, ctx: Any) -> Any:
        while True:
            what, given = await self._orders.get()
            match what:
                case "charge":
                    ctx.wallet.charge(Usage(model="m", cost=given), 0)
                    await ctx.wallet.settled()
                    self._done.set()
                case "wait":
                    return d.Pause(reason="budget-exhausted")
                case "fail":
                    raise RuntimeError("told to fail")
                case "end":
                    return given

    async def charge(self, cost: int | None) -> None:
        """Has it note a call of a model; waits until that is on record."""
        self._done.clear()
        self.order("charge", cost)
        await self._done.wait()

    def order(self, what: str, given: Any = None) -> None:
        """Has it do something: `charge`, `end`, `fail` or `wait`."""
        self._orders.put_nowait((what, given))

    @property
    def works(self) -> bool:
        """Whether it still takes orders."""
        status = self.handle.row.status.value
        return status == "running" and not self.handle.is_done


async def at_random(seed: int, ready: Callable[[], object]) -> None:
    """Starts, charges, funds, hires, cancels and ends without end, on the current session; `ready` once much is going on."""
    chance = random.Random(seed)
    d.agent("talker", model=d.scripted_model("hello", price={"input": 30_000.0, "output": 30_000.0}), budget=0.5)
    live: list[Obeying] = []
    for count in itertools.count():
        if count == BUSY:
            ready()
        live = [each for each in live if not each.handle.is_done]
        with contextlib.suppress(d.Sealed):
            act(chance, live)
        await asyncio.sleep(0.001)


def act(chance: random.Random, live: list[Obeying]) -> None:
    """One thing that may happen. Raises `Sealed` where it would be in a Run that ends."""
    parent = chance.choice(live).handle if live and chance.random() < 0.6 else None
    match chance.choice(["start", "start", "charge", "charge", "charge", "hire", "fund", "cancel", "end", "fail", "wait"]):
        case "start":
            each = Obeying()
            each.handle = d.job(each, budget=chance.choice([None, 0.2, 1.0]), parent=parent)
            live.append(each)
        case "hire":
            d.hire("talker", "hello", parent=parent)
        case "fund":
            d.room().fund(0.1)
        case "charge" if live:
            chance.choice(live).order("charge", chance.choice([None, 10_000, 400_000]))
        case "cancel" if live:
            d.cancel_run(chance.choice(live).handle)
        case ("end" | "fail" | "wait") as how if live:
            chance.choice(live).order(how)


async def main(path: str, seed: int) -> None:
    """Works until it is killed; says when it is busy."""
    async with d.connect(path):
        await at_random(seed, lambda: print("busy", flush=True))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
