"""SQL that agents write: one SELECT over frames, with no way to anything else and an end in any case."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dvergr_nb.errors import BadInput, QueryError, QueryFailed, QueryRefused, QueryTimedOut
from dvergr_nb.store.agents import query
from dvergr_nb.store.store import Store
from tests.store.making import admit, message, said, together

PENGUINS = pd.DataFrame(
    {
        "name": pd.Series(["Ada", "Bo", None], dtype="str"),
        "mass": [3.5, 4.25, float("nan")],
        "kind": pd.Series(["gentoo", "adelie", "adelie"], dtype="category"),
        "seen": pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"], utc=True),
    }
)
FRAMES = {"Penguins": PENGUINS}


def test_a_select_over_the_frames_gives_plain_values() -> None:
    found = query(FRAMES, "SELECT name, mass > 4 AS big, kind, seen FROM penguins ORDER BY seen LIMIT 2")
    assert found.columns == ("name", "big", "kind", "seen")
    assert found.rows == (
        ("Ada", False, "gentoo", "2026-01-01 00:00:00+00:00"),
        ("Bo", True, "adelie", "2026-01-02 00:00:00+00:00"),
    )


def test_no_more_rows_are_given_than_asked_for_and_no_longer_values() -> None:
    assert len(query(FRAMES, "FROM range(100000000000)").rows) == 1_000
    assert query({}, "FROM range(5)", rows=2).rows == ((0,), (1,))
    assert len(query({}, "SELECT repeat('x', 100000)").rows[0][0]) == 10_000
    assert len(query({}, "SELECT repeat('x', 10000) FROM range(1000)").rows) == 200


REFUSED = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('http://127.0.0.1:1/')",
    "SELECT * FROM glob('*')",
    "COPY (SELECT 1) TO 'out.csv'",
    "COPY penguins TO 'out.csv'",
    "ATTACH 'other.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '10GB'",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "CALL dbgen(sf = 1)",
    "CREATE TABLE t (x INTEGER)",
    "INSERT INTO penguins SELECT * FROM penguins",
    "DELETE FROM penguins",
    "DROP TABLE penguins",
    "SELECT 1; SELECT 2",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM sqlite_scan('a', 'b')",
    "SELECT getvariable('x')",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_no_select_over_the_frames_is_refused(sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryRefused, match="penguins"):
        query(FRAMES, sql)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(100000000) AS a(x) JOIN range(100000000) AS b(y) ON x * y % 7 = 3",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "SELECT lpad('x', 2000000000, 'y')",
        "SELECT repeat('x', 3000000000)",
        "SELECT range(3000000000)",
        "SELECT regexp_replace(repeat('a', 100000000), 'a', repeat('b', 1000), 'g')",
    ],
)
def test_what_would_have_no_end_or_eat_all_memory_is_stopped(sql: str) -> None:
    with pytest.raises((QueryTimedOut, QueryFailed)):
        query(FRAMES, sql, limit_s=1.0)


def test_the_environment_is_not_to_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-1")
    with pytest.raises(QueryFailed, match="getenv"):
        query({}, "SELECT getenv('OPENAI_API_KEY')")
    assert os.environ["OPENAI_API_KEY"] == "secret-1"


@pytest.mark.parametrize("sql", ["SELECT " + "(" * 9_000 + "1" + ")" * 9_000, "SELECT nothing", "no sql", "SELECT '\ud800"])
def test_what_is_no_good_sql_is_said_in_a_line(sql: str) -> None:
    with pytest.raises(QueryError) as caught:
        query(FRAMES, sql)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "facts"),
    [
        ("", {}),
        ("SELECT 1" + " " * 20_000, {}),
        (5, {}),
        ("SELECT 1", {"rows": 0}),
        ("SELECT 1", {"rows": 1_001}),
        ("SELECT 1", {"limit_s": 0}),
        ("SELECT 1", {"limit_s": float("inf")}),
    ],
)
def test_a_question_that_is_none_is_refused(sql: Any, facts: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        query(FRAMES, sql, **facts)
    with pytest.raises(BadInput, match="names of their own"):
        query({"a": PENGUINS, "A": PENGUINS}, "SELECT 1")


def test_what_happened_in_a_room_can_be_asked_and_nothing_of_another(store: Store) -> None:
    here, there = admit(tags=("x",)), admit(message(room="lab"))
    together(store, [here, said(here.run), there, said(there.run)])
    frames = store.room_frames("main")
    found = query(frames, "SELECT r.actor, r.tags, m.content FROM runs r JOIN messages m ON m.run_id = r.id")
    assert [(row[0], row[2]) for row in found.rows] == [("researcher", "a line")]
    assert query(frames, "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM activity)").rows == ((1, 1),)
    assert query(store.room_frames("nowhere"), "SELECT count(*) FROM messages").rows == ((0,),)
