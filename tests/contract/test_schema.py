"""What the schema and the statements may not contain, and that the tenant filter costs no scan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from dvergr_nb.records.operation import Join
from dvergr_nb.records.room import Member
from dvergr_nb.store.store import Store
from dvergr_nb.store.table import Table
from tests.store.making import admit, done, message, now, opened

STORE = Path(__file__).parents[2] / "dvergr_nb" / "store"
MODULES = ("rooms", "messages", "runs", "slots", "pauses", "causes", "attention", "wallets", "profiles", "uses")
PRIMARY_KEYS = {
    "activities": ["id"],
    "attention": ["id"],
    "citations": ["run_id", "round", "chunk_id"],
    "keys": ["tenant_id", "room", "key"],
    "messages": ["id"],
    "open_slots": ["tenant_id", "room", "thread_root_id", "actor"],
    "profiles": ["tenant_id", "id", "version"],
    "resumptions": ["old_run_id"],
    "rooms": ["tenant_id", "name"],
    "run_causes": ["run_id", "cause_id"],
    "runs": ["id"],
    "schema_version": ["version"],
    "spends": ["id"],
    "tool_uses": ["id"],
    "transfers": ["id"],
}


@pytest.fixture
def store() -> Iterator[Store]:
    """A new store in memory."""
    made = opened()
    yield made
    made.close()


def tables() -> list[Table]:
    found = [import_module(f"dvergr_nb.store.{name}") for name in MODULES]
    return [value for module in found for value in vars(module).values() if isinstance(value, Table)]


def test_there_is_no_secondary_index_and_no_foreign_key(store: Store) -> None:
    assert store.read(lambda con: con.execute("SELECT count(*) FROM duckdb_indexes()").fetchall()) == [(0,)]
    kinds = "SELECT DISTINCT constraint_type FROM duckdb_constraints()"
    assert {row[0] for row in store.read(lambda con: con.execute(kinds).fetchall())} <= {"PRIMARY KEY", "NOT NULL", "CHECK"}


def test_a_primary_key_stands_only_where_an_id_must_be_unique(store: Store) -> None:
    query = "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
    assert dict(store.read(lambda con: con.execute(query).fetchall())) == PRIMARY_KEYS


def test_every_table_of_rows_has_its_tenant(store: Store) -> None:
    query = "SELECT table_name FROM duckdb_columns() WHERE schema_name = 'dv' AND column_name = 'tenant_id' AND NOT internal"
    having = {row[0] for row in store.read(lambda con: con.execute(query).fetchall())}
    assert having >= set(PRIMARY_KEYS) - {"schema_version"} | {"envelopes", "lives", "members"}


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_rows_are_given_in_the_order_of_the_columns_of_their_table(store: Store, table: Table) -> None:
    query = "SELECT column_name FROM duckdb_columns() WHERE schema_name || '.' || table_name = ? ORDER BY column_index"
    assert [row[0] for row in store.read(lambda con: con.execute(query, [table.name]).fetchall())] == list(table.columns)


def test_ids_are_uuids_in_the_store(store: Store) -> None:
    query = """
        SELECT table_name, column_name FROM duckdb_columns()
        WHERE schema_name = 'dv' AND table_name IN (SELECT table_name FROM duckdb_tables()) AND data_type <> 'UUID'
          AND (column_name IN ('id', 'trigger', 'parent', 'reply_to') OR ends_with(column_name, '_id'))
          AND column_name NOT IN ('tenant_id', 'user_id', 'boot_id', 'profile_id', 'tool_use_id')
    """
    named = [("citations", "chunk_id"), ("envelopes", "id"), ("profiles", "id"), ("rooms", "parent")]
    assert sorted(store.read(lambda con: con.execute(query).fetchall())) == named


@pytest.mark.parametrize("word", [r"FORCE\s+CHECKPOINT", "executemany", r"CREATE\s+(UNIQUE\s+)?INDEX", r"\.commit\(", "pickle"])
def test_statements_that_lose_or_freeze_data_do_not_occur(word: str) -> None:
    for file in [*STORE.rglob("*.py"), *STORE.rglob("*.sql")]:
        assert not re.search(word, file.read_text(), re.IGNORECASE), (word, file.name)


def test_there_is_one_place_that_commits() -> None:
    found = [file.name for file in STORE.rglob("*.py") if '"COMMIT"' in file.read_text()]
    assert found == ["transaction.py"]


def test_no_statement_changes_an_identity_column() -> None:
    identity = {"id", "tenant_id", "kind", "room", "actor", "trigger", "parent", "created_at", "started_at"}
    updates = [
        part for file in STORE.rglob("*.py") for part in re.findall(r"UPDATE dv\.runs.*?WHERE", file.read_text(), re.DOTALL)
    ]
    assert len(updates) >= 4
    for update in updates:
        head = update.split("SET", 1)[1].split("FROM (", 1)[0]
        assert not set(re.findall(r"(\w+) = ", head)) & identity


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM dv.my_run_rows WHERE key = CAST(? AS UUID)",
        "SELECT * FROM dv.my_run_rows WHERE trigger_key = CAST(? AS UUID)",
        "SELECT * FROM runs WHERE actor = ?",
        "SELECT * FROM messages WHERE content = ?",
        "SELECT * FROM members WHERE actor = ?",
    ],
)
def test_a_predicate_on_a_view_reaches_the_scan_beside_the_tenant(store: Store, query: str) -> None:
    units = [admit(message(tenant_id=tenant, content=tenant * 2), actor=tenant * 2) for tenant in ("s", "t", "u")]
    for unit in units:
        done(store, unit)
        stay = Member(tenant_id=unit.run.tenant_id, room="main", actor=unit.run.actor, program="echo", joined_at=now())
        done(store, Join(member=stay))
    column = query.split()[5]
    run = units[1].run
    value = {"key": run.id, "trigger_key": run.trigger}.get(column, "tt")
    plan = store.read(lambda con: con.execute("EXPLAIN " + query, [value]).fetchall())[0][1]
    words = " ".join(plan.replace("│", " ").split())
    assert words.count("Seq Scan") == 1
    assert "Filter ─" not in plan
    scan = words[words.index("Seq Scan") :]
    assert "tenant_id = 't'" in scan
    assert value in scan


def test_attention_facts_are_only_ever_added() -> None:
    for file in STORE.rglob("*.py"):
        assert not re.search(r"(UPDATE|DELETE FROM) dv\.attention", file.read_text()), file.name


def test_the_tenant_is_filtered_in_one_file() -> None:
    naming = [
        file.name
        for file in [*STORE.rglob("*.py"), *STORE.rglob("*.sql")]
        if "getvariable('dvergr_tenant')" in file.read_text()
    ]
    assert naming == ["views.sql"]
    for name in ("reads.py", "presence.py", "frames.py"):
        assert not re.search(r"(FROM|JOIN) dv\.(?!my_)", (STORE / name).read_text())
