"""Stores of an older schema: opened, brought forward with all that is in them, and never taken back."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dvergr_nb.errors import StoreTooNew
from dvergr_nb.records.operation import Admitted, Join, Opened
from dvergr_nb.records.query import RunFilter
from dvergr_nb.records.room import Member
from dvergr_nb.store import migrate
from dvergr_nb.store.migrate import Step, steps
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, message, now, opened, post, reply
from tests.store.taking_part import attend, join, ready, room

STEPS = tuple(steps())
OLD_VIEWS = "CREATE OR REPLACE VIEW dv.my_rooms AS SELECT * FROM dv.rooms WHERE tenant_id = getvariable('dvergr_tenant')"


@pytest.fixture(params=[1, 2], ids=["schema 1", "schema 2"])
def version(request: pytest.FixtureRequest) -> int:
    """Each older schema."""
    number: int = request.param
    return number


@pytest.fixture
def old(tmp_store_path: Path, version: int) -> Path:
    """A store of an older schema with a room, messages and Runs in it."""
    tmp_store_path.parent.mkdir()
    with duckdb.connect(tmp_store_path) as con:
        for step in STEPS[:version]:
            con.execute(step.sql)
            con.execute("INSERT INTO dv.schema_version VALUES (?, now(), ?, '2')", [step.version, step.name])
        con.execute(OLD_VIEWS)
        con.execute(
            """
            INSERT INTO dv.rooms (tenant_id, name, title, created_at)
            VALUES ('t', 'main', 'Main', now()), ('other', 'main', 'Theirs', now())
            """
        )
        con.execute(
            """
            INSERT INTO dv.messages
            SELECT uuidv7(), 't', 'u', 'main', 'ann', NULL, 'm' || i, NULL, uuidv7(), NULL, 'user/message', NULL, NULL, now()
            FROM range(5000) AS r(i)
            """
        )
        con.execute(
            """
            INSERT INTO dv.runs
            SELECT uuidv7(), 't', 'u', 'workflow', 'main', 'dvergr', 'job', NULL, id, NULL, 'completed', NULL, NULL, now(),
                now(), now(), now(), 0, 'gone', NULL, NULL, NULL, NULL, NULL, 0, 0
            FROM dv.messages LIMIT 100
            """
        )
    return tmp_store_path


def counts(store: Store) -> tuple[int, ...]:
    return store.sql("SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM runs)").rows[0]


def test_a_store_of_an_older_schema_is_opened_with_all_that_is_in_it(old: Path) -> None:
    store = opened(old)
    assert store.stats().schema == 3
    assert counts(store) == (5000, 100)
    assert [(each.title, each.parent, each.exclusive_threads) for each in store.rooms()] == [("Main", None, False)]
    store.close()
    again = opened(old)
    assert again.read(lambda con: con.execute("SELECT version, name FROM dv.schema_version ORDER BY 1").fetchall()) == [
        (1, "initial"),
        (2, "rooms"),
        (3, "agents"),
    ]
    again.close()


def test_a_store_that_was_brought_forward_does_all_that_a_new_one_does(old: Path) -> None:
    store = opened(old)
    assert done(store, room("main", title="x")) == Opened(room=store.rooms()[0], inserted=False)
    made = room("quiet", exclusive_threads=True, parent="main")
    about = message()
    assert done(store, made).inserted
    post(store, about)
    for unit in (join(), attend(ready(about)), admit(reply(about))):
        done(store, unit)
    store.close()
    again = opened(old)
    assert [each for each in again.rooms() if each.name == "quiet"] == [made.room]
    assert len(again.members("main")) == len(again.attention("main", None)) == 1
    assert counts(again) == (5002, 101)
    unit = admit(message(room="quiet"))
    assert isinstance(done(again, unit), Admitted)
    done(again, end(unit.run))
    assert len(again.runs(RunFilter(limit=None))) == 102
    again.close()


def test_a_new_store_and_one_that_was_brought_forward_have_the_same_columns(old: Path) -> None:
    query = """
        SELECT schema_name, table_name, column_name, data_type, column_default FROM duckdb_columns()
        WHERE schema_name IN ('dv', 'main') AND NOT internal ORDER BY ALL
    """
    stores = [opened(old), opened()]
    found = [store.read(lambda con: con.execute(query).fetchall()) for store in stores]
    assert found[0] == found[1]
    for store in stores:
        store.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(old: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Step(version + 1, "agents", "ALTER TABLE dv.rooms ADD COLUMN wealth VARCHAR; SELECT nothing")
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "steps", lambda: iter([*STEPS[:version], broken]))
        with pytest.raises(Exception, match="nothing"):
            opened(old)
    store = opened(old)
    assert store.stats().schema == 3
    assert counts(store) == (5000, 100)
    store.close()


def test_a_store_that_was_brought_forward_is_too_new_for_a_version_that_knows_only_an_older_schema(
    old: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(old)
    done(store, Join(member=Member(tenant_id="t", room="main", actor="ann", program="echo", joined_at=now())))
    store.close()
    before = old.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "steps", lambda: iter(STEPS[:version]))
        with pytest.raises(StoreTooNew, match="pip install -U"):
            opened(old)
    assert old.read_bytes() == before
    again = opened(old)
    assert len(again.members("main")) == 1
    again.close()
