"""A body in two segments, for the notebooks beside it: it asks for approval, and goes on in another kernel."""

from __future__ import annotations

from dvergr_nb import Done, Envelope, Pause, Reason


class Ask:
    """The first segment: it reports progress and stops with one question."""

    place = "loop"

    async def execute(self, ctx):
        for n in range(1, 4):
            ctx.progress(n, 3, "checking orders")
            await ctx.checkpoint()
        ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "find_orders"})
        question = Envelope(id="refund-1", kind="approval", body={"call": "refund_order", "order": "A-10293", "amount": 48})
        return Pause(reason=Reason.APPROVAL, envelopes=(question,))


class Refund:
    """The second segment: it works until somebody aborts it, or returns where nobody does."""

    place = "loop"

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def execute(self, ctx):
        for n in range(1, self.steps + 1):
            ctx.progress(n, self.steps, "refunding")
            await ctx.checkpoint()
        return Done(value="refunded", reply="refunded order A-10293")
