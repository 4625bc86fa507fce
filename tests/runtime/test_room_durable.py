"""What is said counts as stored only when it is."""

from __future__ import annotations

import asyncio

from dvergr_nb.records.pause import Envelope
from dvergr_nb.runtime.body import Pause


async def test_a_message_whose_thread_is_held_is_durable_only_once_it_is_stored(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def asks(_message):
            return Pause(reason="approval", envelopes=(Envelope(id="1", kind="approval"),))

        room.join("clerk", asks)
        first = await room.turn("clerk", "may I?").wait()
        assert first.row.reason == "approval"
        spoken = room.speak("clerk", "and now?", thread=first)
        durable = spoken.durable
        await asyncio.wrap_future(durable)
        assert [each.content for each in room.messages()] == ["may I?", "and now?"]
        assert session.store.message(spoken.message.id) is not None
        assert spoken.handle.row.status == "queued"
