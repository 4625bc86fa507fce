"""All that leaves a kernel, kept, so that a test can look for a key in it."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from IPython.core.ultratb import AutoFormattedTB

import dvergr_nb as d
from dvergr_nb.records.event import Event
from dvergr_nb.records.wire import AskDetails
from dvergr_nb.records.wire_use import AskReply, AskUse
from dvergr_nb.widgets.acts import Acts
from tests.telemetry.seen import Seen
from tests.widgets.told import Told, feed_of, room_feed_of

KEY = "Zq7vK2mWx9Lr4TbN8cYp1HdF6sGj3aUe"
"""Of no known shape, so that only its name in the environment gives it away."""
SHOWN = 6
"""How much of its beginning may be seen, in characters."""


class Everywhere:
    """Watches one session whose store is in `folder`."""

    def __init__(self, folder: Path, seen: Seen, logs: pytest.LogCaptureFixture) -> None:
        self._folder, self._seen, self._logs = folder, seen, logs
        self.events: list[Event] = []
        self.board, self.room = Told(), Told()
        self._files = b""
        self._raised: list[str] = []
        self._table = ""
        self._acts: Acts | None = None

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """The current session, watched by a subscriber, a board and a room view; at its end all details are asked for."""
        async with d.connect(str(self._folder / "store.duckdb")) as session:
            session.watch_runs("test", self.events.append)
            self._acts = Acts(feed_of(session, self.board))
            room_feed_of(session, self.room, "main")
            yield
            await self._ask_for_details(session)
            self._files = self._bytes()
        self._table = self._all_tables()

    async def _ask_for_details(self, session: Any) -> None:
        acts, asked = self._acts, 0
        assert acts is not None
        for run_id in [row["id"] for row in self.board.runs()]:
            uses = [use.id for use in session.store.tool_uses(run_id)]
            acts.do(AskDetails(type="details", id=f"details-{run_id}", run_id=run_id))
            acts.do(AskReply(type="reply", id=f"reply-{run_id}", run_id=run_id))
            for use in uses:
                acts.do(AskUse(type="use", id=f"use-{use}", run_id=run_id, use_id=use))
            asked += 2 + len(uses)
        await self.board.until(lambda: sum(len(self.board.of(kind)) for kind in ("details", "reply", "use", "ack")) >= asked)

    def raises(self, problem: BaseException) -> None:
        """What a person is shown of an error: by Python, and by a notebook."""
        self._raised.append("".join(traceback.format_exception(problem)))
        shown = AutoFormattedTB(mode="Context", theme_name="nocolor")
        self._raised.append(shown.text(type(problem), problem, problem.__traceback__))

    def _bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self._folder.rglob("*")) if path.is_file())

    def _all_tables(self) -> str:
        with duckdb.connect(str(self._folder / "store.duckdb"), read_only=True) as store:
            names = [".".join(row) for row in store.execute("select schema_name, table_name from duckdb_tables()").fetchall()]
            assert "dv.messages" in names
            return "\n".join(repr(store.execute(f"select * from {name}").fetchall()) for name in names)  # noqa: S608

    def places(self) -> Iterator[tuple[str, str]]:
        """Every place and what is in it."""
        yield "files", (self._files + self._bytes()).decode("latin-1")
        yield "tables", self._table
        yield "events", "\n".join(map(repr, self.events))
        for name, told in (("board", self.board), ("room", self.room)):
            yield name, json.dumps(told.messages, ensure_ascii=False, default=str) + "\n".join(told.saved)
        yield "spans", "\n".join(span.to_json() for span in self._seen.spans)
        yield "logs", "\n".join([self._logs.text, *(record.getMessage() for record in self._logs.records)])
        yield "raised", "\n".join(self._raised)

    def leaks(self, key: str = KEY) -> list[str]:
        """Where more of a key can be seen than its first few characters."""
        parts = [key[start : start + SHOWN + 1] for start in range(len(key) - SHOWN)]
        return [f"{place}: {part}" for place, text in self.places() for part in parts if part in text]


@pytest.fixture
def everywhere(tmp_path: Path, seen: Seen, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Everywhere:
    """The key is in the environment; nothing has happened yet."""
    monkeypatch.setenv("MY_API_KEY", KEY)
    caplog.set_level(logging.DEBUG, "dvergr_nb")
    assert "IPython" in sys.modules
    return Everywhere(tmp_path / "store", seen, caplog)
