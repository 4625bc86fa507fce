"""What a body of somebody else's making may return or raise: the Run always ends, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.body import Done, Pause
from tests.rigs.session import Body, RefusingSession

Opened = Callable[..., AbstractAsyncContextManager[RefusingSession]]
NESTED: dict[str, Any] = {}
for _ in range(100_000):
    NESTED = {"a": NESTED}


def asks(**fields: Any) -> Pause:
    return Pause(reason="approval", envelopes=(Envelope(**({"id": "e", "kind": "approval"} | fields)),))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Done(reply=5), "the reply of a Run is text or None, not int"),  # type: ignore[arg-type]  # what bodies do
        (Done(reason=object()), "reason must be a line"),  # type: ignore[arg-type]
        (Done(reason="x" * 1_000), "reason must be a line"),
        (Pause(reason=None), "reason must be a line"),  # type: ignore[arg-type]
        (Pause(reason="approval", envelopes=None), "envelopes of a pause are a tuple"),  # type: ignore[arg-type]
        (Pause(reason="approval", envelopes=("?",)), "whose body is a mapping"),  # type: ignore[arg-type]
        (asks(body={"call": object()}), "must be plain data"),
        (asks(body={"amount": float("nan")}), "must be plain data"),
        (asks(body=NESTED), "must be plain data"),
        (asks(id=7), "id and kind of an envelope are words"),
    ],
)
async def test_an_outcome_that_cannot_be_written_down_fails_the_run_and_says_why(
    opened: Opened, outcome: object, said: str
) -> None:
    async with opened() as session:

        async def work(_ctx: object) -> object:
            return outcome

        run = await session.start(Body(work), actor="a").wait(30)
        assert (run.row.status, run.row.reason) == (RunStatus.FAILED, "error")
        assert said in str(run.row.error)
        assert await session.job(lambda: "the store still writes") == "the store still writes"


async def test_an_envelope_with_lone_surrogates_is_mended_and_the_run_pauses(opened: Opened) -> None:
    async with opened() as session:

        async def work(_ctx: object) -> object:
            return asks(body={"call": "\ud800"})

        run = await session.start(Body(work), actor="a").wait(30)
        assert run.row.is_paused
        assert [envelope.body for envelope in session.store.envelopes(run.id)] == [{"call": "\ufffd"}]


@pytest.mark.parametrize("escape", [RuntimeError, KeyboardInterrupt, SystemExit])
async def test_law_12_holds_for_an_exception_whose_own_text_escapes(opened: Opened, escape: type[BaseException]) -> None:
    async with opened() as session:

        class Hostile(Exception):
            def __str__(self) -> str:
                raise escape

        async def work() -> None:
            raise Hostile

        run = await session.job(work).wait(30)
        assert (run.row.status, run.row.error) == (
            RunStatus.FAILED,
            f"Hostile: (its text could not be made: {escape.__name__})",
        )
