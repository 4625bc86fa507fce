"""SQL that people type."""

from __future__ import annotations

import datetime as dt
import threading

import pytest

from dvergr_nb.errors import DvergrError, QueryFailed, QueryRefused, QueryTimedOut
from dvergr_nb.records.query import RunFilter
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, message, post, said, together

ALLOWED = [
    "SELECT id, status FROM runs",
    "FROM main.runs ORDER BY started_at LIMIT 3",
    "WITH busy AS (SELECT * FROM runs WHERE status = 'running') SELECT count(*) FROM busy",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
    "SELECT r.actor, count(*) FROM runs r JOIN activity a ON a.run_id = r.id GROUP BY ALL",
    "SELECT (SELECT count(*) FROM messages), unnest([1, 2])",
    "SELECT * FROM range(3), generate_series(1, 2)",
    "VALUES (1), (2)",
    "SELECT 1 UNION ALL SELECT 2",
    "EXPLAIN SELECT * FROM runs",
    "explain /* why */ select 1",
    "DESCRIBE runs",
    "SHOW TABLES",
    "SUMMARIZE messages",
    "PIVOT runs ON status IN ('running', 'failed') USING count(*)",
    "SELECT 'a;b' -- two statements? no",
]
REFUSED = [
    "",
    "-- nothing",
    "SELECT 1; SELECT 2",
    "DELETE FROM runs",
    "INSERT INTO runs VALUES (1)",
    "WITH gone AS (DELETE FROM dv.runs RETURNING *) SELECT * FROM gone",
    "WITH x AS (INSERT INTO dv.rooms VALUES ('t', 'x', 'x', now()) RETURNING *) SELECT * FROM x",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (ANALYZE) SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM dv.runs",
    "EXPLAIN DELETE FROM dv.runs",
    "SELECT * FROM dv.runs",
    "SELECT * FROM memory.dv.runs",
    "SELECT * FROM runs WHERE id IN (SELECT id FROM dv.runs)",
    "SELECT (SELECT count(*) FROM dv.keys)",
    "SELECT * FROM query('SELECT * FROM dv.runs')",
    "SELECT * FROM query_table('dv.runs')",
    "SELECT * FROM checkpoint()",
    "SELECT * FROM force_checkpoint()",
    "SELECT * FROM enable_logging()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT getvariable('dvergr_tenant')",
    "SUMMARIZE dv.runs",
    "DESCRIBE SELECT * FROM dv.runs",
    "COPY (SELECT 1) TO 'x.csv'",
    "COPY runs TO 'x.csv'",
    "ATTACH 'x.duckdb'",
    "PRAGMA database_list",
    "SET threads = 1",
    "SET VARIABLE dvergr_tenant = 'other'",
    "RESET threads",
    "CALL checkpoint()",
    "CHECKPOINT",
    "UPDATE EXTENSIONS",
    "BEGIN",
    "COMMIT",
    "CREATE TABLE x AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "DROP VIEW runs",
    "INSTALL httpfs",
    "LOAD json",
    "EXPORT DATABASE 'x'",
    "VACUUM",
    "PREPARE p AS DELETE FROM dv.runs",
    "PIVOT runs ON status USING count(*)",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_a_select_over_the_views_is_answered(store: Store, query: str) -> None:
    done(store, admit())
    assert store.sql(query).columns


@pytest.mark.parametrize("query", REFUSED)
def test_anything_else_is_refused_in_one_line_that_says_what_is_allowed(store: Store, query: str) -> None:
    unit = admit()
    done(store, unit)
    with pytest.raises(QueryRefused) as refused:
        store.sql(query)
    assert "allowed is one SELECT" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert store.run(unit.run.id) == unit.run
    assert done(store, end(unit.run)).run.revision == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELEKT 1",
        "SELECT nope FROM runs",
        "SELECT 1/0::INTEGER + 'a'",
        "SELECT ? + 1",
        "SELECT '\ud800' || x",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "1+" * 20000 + "1",
        "EXPLAIN EXPLAIN SELECT 1",
    ],
)
def test_what_duckdb_cannot_answer_fails_in_one_line(store: Store, query: str) -> None:
    with pytest.raises((QueryFailed, QueryRefused)) as failed:
        store.sql(query)
    assert "\n" not in str(failed.value)
    assert store.sql("SELECT 1").rows == ((1,),)


def test_a_query_that_takes_too_long_is_stopped_and_the_next_one_works(store: Store) -> None:
    with pytest.raises(QueryTimedOut, match=r"0\.3 s"):
        store.sql("SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b", limit_s=0.3)
    assert store.sql("SELECT 1").rows == ((1,),)


def test_parameters_are_given_by_place_or_by_name(store: Store) -> None:
    together(store, [admit(actor="ann"), admit(actor="o'hara")])
    query = "SELECT actor FROM runs WHERE actor = "
    assert store.sql(query + "?", ["o'hara"]).rows == store.sql(query + "$who", {"who": "o'hara"}).rows == (("o'hara",),)


def test_a_result_is_whole_and_becomes_a_frame_with_aware_times(store: Store) -> None:
    unit = admit()
    done(store, unit)
    result = store.sql("SELECT id, started_at, tags, 1.5 AS x, 2 AS x FROM runs")
    assert result.columns == ("id", "started_at", "tags", "x", "x")
    frame = result.df()
    assert str(frame["started_at"].dtype) == "datetime64[us, UTC]"
    assert frame["started_at"][0].to_pydatetime() == unit.run.started_at
    assert store.sql("SELECT id, started_at FROM runs WHERE false").df().shape == (0, 2)


def test_local_variables_are_out_of_reach(store: Store) -> None:
    import pandas as pd

    secret = pd.DataFrame({"a": [1]})
    with pytest.raises(QueryRefused, match="secret"):
        store.sql("SELECT * FROM secret")
    assert len(secret) == 1


def test_activity_has_a_row_per_fact_and_one_per_message_without_facts(store: Store) -> None:
    unit = admit(label="fit", kind="workflow")
    done(store, unit)
    done(store, said(unit.run, "a line"))
    post(store, message(content="talk"))
    at = unit.run.started_at + dt.timedelta(seconds=90)
    late = said(unit.run, created_at=at, content="later")
    done(store, late)
    rows = store.sql(
        """
        SELECT content, actor, run_label, thread, "trigger", run_status, round(at_seconds)
        FROM activity ORDER BY created_at
        """
    ).rows
    assert [row[0] for row in rows] == ["a line", "later"]
    assert rows[1][1:] == ("researcher", "fit", unit.run.trigger, unit.run.trigger, "running", 90.0)


def test_queries_from_several_threads_do_not_meet(store: Store) -> None:
    units = [admit(actor=f"actor-{n % 8}") for n in range(400)]
    together(store, units)
    wrong: list[object] = []

    def ask(n: int) -> None:
        try:
            for _ in range(20):
                rows = store.sql("SELECT DISTINCT actor FROM runs WHERE actor = ?", [f"actor-{n}"]).rows
                wrong.extend([] if rows == ((f"actor-{n}",),) else [rows])
                wrong.extend(each for each in store.runs(RunFilter(actor=f"actor-{n}")) if each.actor != f"actor-{n}")
        except DvergrError as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
