"""A connection in which a chosen operation fails, for the writer alone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import duckdb

from dvergr_nb.errors import DvergrError
from dvergr_nb.records.operation import Answer, Unit
from dvergr_nb.store.connect import Instance
from dvergr_nb.store.migrate import migrate
from dvergr_nb.store.ticket import Ticket
from dvergr_nb.store.writer import Writer
from tests.store.making import LIMIT_S, clock, here, outcome

Refuse = Callable[[int, str, Any], Exception | None]
"""Given the number of the operation, its text and its values: the error it fails with, or None."""


class Faulty:
    """Counts what is done through it within transactions, and lets `refuse` break any of it."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.refuse: Refuse = lambda *_: None
        self.seen: list[str] = []
        self.has_failed = False
        """Whether the store itself has refused something, as an id that is there already."""

    def execute(self, statement: str, values: Any = None) -> duckdb.DuckDBPyConnection:
        self.meet(statement, values)
        with self.watched():
            return self.con.execute(statement, values)

    def appender(self, table: str) -> FaultyAppender:
        return FaultyAppender(self, table)

    def close(self) -> None:
        self.con.close()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes an error of the store itself."""
        try:
            yield
        except duckdb.Error:
            self.has_failed = True
            raise

    def meet(self, text: str, values: Any) -> None:
        if text == "ROLLBACK" or text.lstrip().startswith("SELECT"):
            return
        place = len(self.seen)
        self.seen.append(" ".join(text.split())[:40])
        if (problem := self.refuse(place, text, values)) is not None:
            raise problem


class FaultyAppender:
    """An appender that asks before it flushes."""

    def __init__(self, owner: Faulty, table: str) -> None:
        self.owner = owner
        self.table = table
        self.rows: list[Sequence[Any]] = []
        self.real = owner.con.appender(table)

    def append_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        self.rows.extend(rows)
        self.real.append_rows(rows)

    def flush(self) -> None:
        self.owner.meet(f"APPEND {self.table}", [value for row in self.rows for value in row])
        self.rows.clear()
        with self.owner.watched():
            self.real.flush()

    def clear(self) -> None:
        self.rows.clear()
        self.real.clear()


class Alone:
    """A writer by itself, on a store in memory or in a file, with a connection that can be broken."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        con = instance.open()
        migrate(con, instance.name, clock.now())
        self.faulty = Faulty(con)
        self.writer = Writer(instance, cast("duckdb.DuckDBPyConnection", self.faulty), here)
        self.writer.start()

    def together(self, units: Sequence[Unit]) -> list[Answer | DvergrError]:
        """The outcomes of units that the writer finds in its queue at once."""
        gate, reached = threading.Event(), queue.SimpleQueue[None]()

        def wait(_: object) -> None:
            reached.put(None)
            assert gate.wait(LIMIT_S)

        self.writer.errand(wait)
        reached.get(timeout=LIMIT_S)
        tickets = [Ticket(unit, None) for unit in units]
        for ticket in tickets:
            self.writer.put(ticket)
        gate.set()
        return [outcome(ticket.future) for ticket in tickets]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What the store holds now, whatever instance it is."""
        return cast(
            "list[tuple[Any, ...]]", self.writer.errand(lambda pen: pen.con.execute(statement).fetchall()).result(LIMIT_S)
        )

    def close(self) -> None:
        self.writer.errand(lambda _: None, is_last=True)
        self.writer.join()
        self.instance.close(for_good=True)


@contextmanager
def alone(instance: Instance | None = None) -> Iterator[Alone]:
    """A writer by itself, closed at the end."""
    one = Alone(instance or Instance(None, "t"))
    try:
        yield one
    finally:
        one.close()


def constraint() -> Exception:
    return duckdb.ConstraintException("Constraint Error: injected")


def fatal() -> Exception:
    return duckdb.FatalException("FATAL Error: injected")


def full() -> Exception:
    return duckdb.IOException("IO Error: Could not write file: No space left on device")
