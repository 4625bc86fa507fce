"""The home loop: what another thread asks of it is done once, or not at all."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dvergr_nb.errors import LoopBusy
from dvergr_nb.runtime.home import Home


async def test_what_a_thread_has_given_up_waiting_for_is_never_done():
    home, done, problems = Home.here(), [], []

    def ask():
        try:
            home.call(lambda: done.append("late"), 0.01)
        except LoopBusy as problem:
            problems.append(problem)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(30)  # holds the loop, as a cell does
    passed = asyncio.get_running_loop().create_future()
    home.post(lambda: passed.set_result(None))
    await passed
    assert (len(problems), done) == (1, [])


async def test_a_timeout_that_the_act_itself_raises_is_the_callers():
    home = Home.here()

    def act():
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        await asyncio.to_thread(home.call, act)
