"""A body in two segments, for the notebooks beside it: it asks for approval, and goes on in another kernel."""

from __future__ import annotations

import asyncio
import json

from dvergr_nb import Aborted, Done, Envelope, Pause, Reason, RunBoard
from dvergr_nb.runtime.context import Context

LIMIT_S = 30


class Ask:
    """The first segment: it reports progress and stops with one question."""

    place = "loop"

    async def execute(self, ctx: Context) -> Pause:
        for n in range(1, 4):
            ctx.progress(n, 3, f"order {n}")
            await ctx.checkpoint()
        ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "find_orders"})
        question = Envelope(id="refund-1", kind="approval", body={"call": "refund_order", "order": "A-10293", "amount": 48})
        return Pause(reason=Reason.APPROVAL, envelopes=(question,))


class Refund:
    """The second segment: it works until somebody aborts it, and puts on record what it was told."""

    place = "loop"

    async def execute(self, ctx: Context) -> Done:
        ctx.progress(0, 1, "refunding")
        try:
            for _ in range(100_000):
                await ctx.checkpoint()
                await asyncio.sleep(0.01)
        except Aborted as told:
            ctx.activity(f"told to abort: {told}")
            raise
        return Done(value="refunded")


async def shown(board: RunBoard, until: str) -> list[tuple[str, str, str]]:
    """Name, status and reason of each row of a board, once one has the status `until`: what a view shows and a save keeps."""
    changed = asyncio.Event()
    board.observe(lambda _: changed.set(), "snapshot")
    while True:
        rows = [(row["name"], row["status"], row.get("reason", "")) for row in json.loads(board.snapshot)["rows"]]
        if any(status == until for _, status, _ in rows):
            return rows
        await asyncio.wait_for(changed.wait(), LIMIT_S)
        changed.clear()
