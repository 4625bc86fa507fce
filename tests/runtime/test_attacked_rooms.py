"""What a room is given by mistake or by malice: it is refused in words, and nothing has happened then."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb.actors.debate import iterative_refinement
from dvergr_nb.actors.episode import Talk
from dvergr_nb.actors.stage import handlers_of
from dvergr_nb.errors import BadInput, BadMessage, BadRun, NoSuchActor, SessionClosed
from dvergr_nb.records.query import RunFilter
from dvergr_nb.runtime.limits import Limits
from dvergr_nb.session import Session

HUGE = 10**400
"""A whole number that is no float."""


class Unshowable:
    """A value whose own code fails as soon as somebody looks at it."""

    def __repr__(self) -> str:
        raise SystemExit("repr")


async def ok(message, _ctx):
    return f"ok {message.content}"


async def test_a_value_that_fails_when_it_is_looked_at_fails_its_run_and_the_actor_goes_on(opened):
    given = [d.Pause(reason=Unshowable()), d.Withheld(reason=Unshowable()), Unshowable(), "well"]

    async def handler(_message, _ctx):
        return given.pop(0)

    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", handler)
        for _ in range(3):
            run = await room.turn("a", "hi").wait()
            assert run.row.status is d.RunStatus.FAILED
        assert await room.turn("a", "hi") == "well"


async def test_a_room_whose_closing_was_interrupted_opens_again_once_it_has_drained(opened):
    entered, gate = asyncio.Event(), asyncio.Event()

    async def slow_to_stop(_message, _ctx):
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await gate.wait()

    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", slow_to_stop)
        run = room.turn("a", "hi")
        await entered.wait()
        closing = asyncio.ensure_future(room.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert session.rooms.open("lab").is_closed  # it has not drained
        gate.set()
        await run.wait()
        assert not session.rooms.open("lab").is_closed
        room.join("b", ok)
        assert await room.turn("b", "hi") == "ok hi"


async def test_a_fence_that_somebody_holds_is_not_taken_away_by_naming_the_room(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        fence = room.fence()
        assert session.rooms.open("lab").is_closed
        assert room.reopen(fence)


@pytest.mark.parametrize("drain_s", [-1, "5", None, True, float("nan")])
async def test_a_bad_time_to_drain_leaves_the_room_open(opened, drain_s):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        with pytest.raises(BadInput, match="drain_s"):
            await room.close(drain_s=drain_s)
        assert await room.turn("a", "hi") == "ok hi"


async def test_numbers_of_seconds_beyond_all_clocks_are_refused_or_wait_for_ever(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        assert await room.ask("a", "hi", timeout=HUGE) == "ok hi"
        for make in (lambda: Limits(wall_s=HUGE), lambda: d.latency(HUGE), lambda: d.echo(HUGE), lambda: d.script.wait(HUGE)):
            with pytest.raises(BadInput, match="number of seconds"):
                make()
        assert await room.close(drain_s=HUGE) == ()


@pytest.mark.parametrize("verb", ["fan_out", "race"])
@pytest.mark.parametrize(("actors", "problem"), [("ab", BadInput), (3, BadInput), (["a", "nobody"], NoSuchActor)])
async def test_nobody_is_asked_where_one_of_several_cannot_be(opened, verb, actors, problem):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        room.join("b", ok)
        with pytest.raises(problem):
            await getattr(room, verb)(actors, "hi")
        assert room.messages() == []
        assert session.store.runs(RunFilter(room="lab")) == []


@pytest.mark.parametrize("key", [3, "", "x" * 100_000, b"key"])
async def test_a_message_with_a_key_that_is_none_is_refused(opened, key):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput, match="a key"):
            room.post("hi", key=key)
        assert room.messages() == []


async def test_a_key_that_is_no_unicode_still_stores_a_message_once(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        await room.post("hi", to="a", key="\ud800")
        await room.post("hi", to="a", key="\ud800")
        await session.drain()
        assert [each.content for each in room.messages()] == ["hi", "ok hi"]


@pytest.mark.parametrize("parent", [3, "no id", object()])
async def test_a_message_for_a_parent_that_is_no_run_is_not_stored(opened, parent):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        with pytest.raises(BadRun, match="parent"):
            room.post("hi", to="a", parent=parent)
        assert room.messages() == []


async def test_nobody_sends_in_the_name_of_everyone(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
        with pytest.raises(BadMessage, match="everyone"):
            room.post("hi", to="a", sender="*")
        assert room.messages() == []


async def test_what_names_no_actor_cannot_leave(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        for bad in (["a"], 3, None, object()):
            with pytest.raises(BadInput, match="leave"):
                room.leave(bad)


async def test_wrappers_are_a_list(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput, match="wrappers"):
            room.join("a", ok, wrappers=3)
        assert room.present() == ()


@pytest.mark.parametrize("ends_it", ["leave", "fence"])
async def test_a_policy_that_has_its_actor_leave_or_shuts_the_room_leaves_nothing_queued(opened, ends_it):
    entered = asyncio.Event()

    async def works(_message, _ctx):
        entered.set()
        await asyncio.Event().wait()

    async with opened() as session:
        room = session.rooms.open("lab")

        def policy(_message, _situation):
            room.leave("a") if ends_it == "leave" else room.fence()
            return "queue"

        room.join("a", works, attention=policy)
        run = room.turn("a", "hi")
        await entered.wait()
        posting = await room.post("more", to="a")
        assert posting.runs == ()
        run.cancel()
        await session.drain(20)
        assert [each.message.content for each in room.unanswered()] == ["more"]


async def test_a_room_of_a_session_that_was_closed_takes_nothing(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", ok)
    for act in (lambda: room.turn("a", "hi"), lambda: room.post("hi", to="a"), lambda: room.join("b", ok)):
        with pytest.raises(SessionClosed):
            act()
    with pytest.raises(SessionClosed):
        await room.ask("a", "hi")


def test_a_room_whose_loop_is_gone_takes_nothing_that_would_wait_for_ever(tmp_path):
    async def begin():
        session = Session(str(tmp_path / "s.duckdb"))
        room = session.rooms.open("lab")
        room.join("a", ok)
        return session, room

    session, room = asyncio.run(begin())
    try:
        for act in (lambda: room.turn("a", "hi"), lambda: room.post("hi", to="a"), lambda: room.join("b", ok)):
            with pytest.raises(SessionClosed):
                act()
        assert room.messages() == []
    finally:
        session.close(force=True)


async def test_who_joined_under_a_name_that_is_no_unicode_leaves_by_that_name(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a\ud800", ok)
        assert room.leave("a\ud800")
        assert room.present() == ()


@pytest.mark.parametrize("limit", ["3", True, 0, 1.5])
async def test_a_number_of_unanswered_messages_that_is_none_is_refused(opened, limit):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput, match="limit"):
            room.unanswered(limit)


@pytest.mark.parametrize("wait", [d.join, d.race])
async def test_what_cannot_be_awaited_is_refused_before_anything_else_is_begun_with(wait):
    begun: list[str] = []

    async def work() -> None:
        begun.append("work")

    other = work()
    with pytest.raises(BadInput, match="awaitables"):
        await wait(other, 3)
    other.close()
    assert begun == []


async def test_a_refinement_that_nobody_can_accept_asks_nobody():
    asked: list[str] = []

    async def ask(actor: str, _text: str) -> str:
        asked.append(actor)
        return "said"

    with pytest.raises(BadInput, match="accept"):
        await iterative_refinement(ask, "author", "reviewer", "task", 3)  # type: ignore[arg-type]
    assert asked == []


@pytest.mark.parametrize("seed", ["seed", None, True, 1.5, [1]])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(BadInput, match="seed"):
        d.flaky(0.5, seed=seed)


@pytest.mark.parametrize(
    "act",
    [
        lambda: d.reply_obligation(on_emitted=3),
        lambda: d.reply_obligation(on_dropped="told"),
        lambda: d.carry_obligation("reply", 3),
        lambda: d.carry_obligation(3),
        lambda: d.release_obligation([1]),
    ],
)
async def test_what_is_no_obligation_is_refused_where_it_is_given(opened, act):
    async def handler(_message, _ctx):
        with pytest.raises(BadInput):
            act()
        return "went on"

    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("a", handler)
        assert await room.turn("a", "hi") == "went on"


@pytest.mark.parametrize("actors", [{3: ok}, {"_p": ok}, {"p": 3}])
async def test_an_episode_of_somebody_who_could_not_join_is_refused_before_there_is_a_run(opened, actors):
    async with opened() as session:
        with pytest.raises(BadInput):
            handlers_of(session.rooms.open("lab"), actors)


@pytest.mark.parametrize("bound", [{"pick": 3}, {"stop": 3}, {"stop": None}])
def test_an_episode_with_bounds_that_cannot_be_asked_is_refused_before_there_is_a_run(bound):
    with pytest.raises(BadInput, match=next(iter(bound))):
        Talk(actors=("p", "q"), opening="go", **bound)
