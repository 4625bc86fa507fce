"""The floor: a writer thread that takes what is queued, writes it with a list insert per table and commits once, and no more.

Two tables, no schema of ours, no rules, no recovery. What a Run costs here, DuckDB and the disk cost.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import queue
import sys
import threading
import uuid
from pathlib import Path
from typing import Any, Final, NamedTuple

import duckdb

from tests.benchmarks.contenders.serving import serve
from tests.benchmarks.contenders.workload import TEXTS

RUN_COLUMNS: Final = ["VARCHAR"] * 8 + ["TIMESTAMP"] * 3
SAID_COLUMNS: Final = ["VARCHAR"] * 4 + ["INTEGER", "TIMESTAMP", "VARCHAR"]
SCHEMA: Final = """
CREATE TABLE runs (
    id VARCHAR PRIMARY KEY, kind VARCHAR, room VARCHAR, actor VARCHAR, "trigger" VARCHAR, parent VARCHAR, status VARCHAR,
    reason VARCHAR, created_at TIMESTAMP, updated_at TIMESTAMP, ended_at TIMESTAMP
);
CREATE TABLE said (
    id VARCHAR, run_id VARCHAR, thread VARCHAR, role VARCHAR, place INTEGER, said_at TIMESTAMP, content VARCHAR
);
"""
ENDS: Final = """
UPDATE runs SET status = u.status, updated_at = u.ended, ended_at = u.ended
FROM (SELECT unnest(?::VARCHAR[]) AS id, unnest(?::VARCHAR[]) AS status, unnest(?::TIMESTAMP[]) AS ended) AS u
WHERE runs.id = u.id
"""


def lists(table: str, columns: list[str]) -> str:
    """The insert of a list per column."""
    return f"INSERT INTO {table} SELECT {', '.join(f'unnest(?::{column}[])' for column in columns)}"  # constants


STATEMENTS: Final = {"runs": lists("runs", RUN_COLUMNS), "said": lists("said", SAID_COLUMNS), "ends": ENDS}


class Item(NamedTuple):
    """A row on its way, and who waits for it."""

    kind: str
    row: list[Any]
    waiting: asyncio.Future[None] | None


class Writer:
    """Owns the connection."""

    def __init__(self, path: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self._con = duckdb.connect(str(path))
        self._con.execute(SCHEMA)
        self._queue: queue.SimpleQueue[Item] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def put(self, kind: str, row: list[Any]) -> None:
        """Queues a row."""
        self._queue.put(Item(kind, row, None))

    async def stored(self, kind: str, row: list[Any]) -> None:
        """Queues a row and waits until it is committed."""
        waiting = self._loop.create_future()
        self._queue.put(Item(kind, row, waiting))
        await waiting

    def _run(self) -> None:
        while True:
            items = [self._queue.get()]
            while not self._queue.empty():
                items.append(self._queue.get())
            self._con.execute("BEGIN")
            for kind, statement in STATEMENTS.items():
                if rows := [item.row for item in items if item.kind == kind]:
                    self._con.execute(statement, [list(column) for column in zip(*rows, strict=True)])
            self._con.execute("COMMIT")
            if waiting := [item.waiting for item in items if item.waiting is not None]:
                self._loop.call_soon_threadsafe(_wake, waiting)


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        future.set_result(None)


def _new_id() -> str:
    return str(uuid.uuid4())


async def main(folder: Path) -> None:
    """Serves with a new file in the folder."""
    writer = Writer(folder / "bare.duckdb")

    async def admit() -> str:
        run_id, now = _new_id(), dt.datetime.now(dt.UTC).replace(tzinfo=None)
        row = [run_id, "workflow", "main", "bare", _new_id(), None, "running", None, now, now, None]
        await writer.stored("runs", row)
        return run_id

    async def run() -> None:
        run_id = await admit()
        for step, text in enumerate(TEXTS):
            at = dt.datetime.now(dt.UTC).replace(tzinfo=None)
            writer.put("said", [_new_id(), run_id, run_id, "activity", step, at, text])
            await asyncio.sleep(0)
        await writer.stored("ends", [run_id, "completed", dt.datetime.now(dt.UTC).replace(tzinfo=None)])

    async def only_admit() -> None:
        await admit()

    await serve({"run": run, "admit": only_admit})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
