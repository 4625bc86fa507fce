"""The child of a fork leaves its parent's store alone: it neither reads nor ends it, nor keeps it locked."""

from __future__ import annotations

from pathlib import Path

from dvergr_nb.records.query import MessageFilter
from dvergr_nb.store.lock import holder_of
from tests.store.making import opened
from tests.store.test_opening import elsewhere


def test_the_end_of_a_forked_child_writes_nothing_and_the_parent_goes_on(tmp_store_path: Path) -> None:
    ended = elsewhere(
        """
        import os, sys
        from dvergr_nb.records.operation import Post
        from dvergr_nb.records.query import MessageFilter
        from tests.store.making import done, message, opened
        store = opened(sys.argv[1])
        done(store, Post(message=message()))
        if (child := os.fork()) == 0:
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.path.getsize(sys.argv[1] + ".lock") > 0)
        done(store, Post(message=message()))
        print(len(store.messages(MessageFilter())))
        """,
        tmp_store_path,
    )
    assert (ended.returncode, ended.stdout) == (0, "0 True\n2\n"), ended.stderr
    store = opened(tmp_store_path)
    assert len(store.messages(MessageFilter())) == 2
    store.close()


def test_a_forked_child_is_told_that_the_store_is_closed_and_may_open_another(tmp_store_path: Path) -> None:
    ended = elsewhere(
        """
        import os, sys
        from dvergr_nb.errors import DvergrError
        from dvergr_nb.records.operation import Post
        from dvergr_nb.records.query import MessageFilter
        from tests.store.making import done, message, opened
        store = opened(sys.argv[1])
        store.messages(MessageFilter())
        def tried(act):
            try:
                return act()
            except DvergrError as problem:
                return type(problem).__name__
        if (child := os.fork()) == 0:
            own = opened(sys.argv[1] + ".own")
            acts = (
                lambda: store.messages(MessageFilter()),
                lambda: done(store, Post(message=message())),
                lambda: opened(sys.argv[1]),
                lambda: done(own, Post(message=message())).inserted,
            )
            print(*map(tried, acts), flush=True)
            own.close()
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        tmp_store_path,
    )
    assert (ended.returncode, ended.stdout) == (0, "SessionClosed SessionClosed StoreBusy True\n0\n"), ended.stderr


def test_a_child_that_outlives_its_parent_does_not_hold_the_store(tmp_store_path: Path) -> None:
    ended = elsewhere(
        """
        import os, signal, sys
        from tests.store.making import opened
        store = opened(sys.argv[1])
        awake, child_end = os.pipe()
        if os.fork() == 0:
            os.setsid()
            for stream in (0, 1, 2):
                os.close(stream)
            os.write(child_end, b"!")
            signal.alarm(60)
            signal.pause()
        os.read(awake, 1)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_store_path,
    )
    assert ended.returncode == -9, ended.stderr
    assert holder_of(tmp_store_path) is not None
    opened(tmp_store_path).close()


def test_a_forked_child_ends_no_run_of_its_parent_and_prints_as_before(tmp_store_path: Path) -> None:
    ended = elsewhere(
        """
        import asyncio, os, sys
        from dvergr_nb.errors import DvergrError
        from dvergr_nb.session import Session
        session = Session(sys.argv[1])
        async def work():
            await asyncio.Event().wait()
        run = session.job(work)
        run.admission.result(30)
        if (child := os.fork()) == 0:
            try:
                run.cancel()
            except DvergrError as problem:
                print(type(problem).__name__, type(sys.stdout).__name__, flush=True)
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), session.store.run(run.id).status.value)
        session.close(force=True)
        """,
        tmp_store_path,
    )
    assert (ended.returncode, ended.stdout) == (0, "SessionClosed TextIOWrapper\n0 running\n"), ended.stderr
