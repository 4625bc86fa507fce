"""A store with a past: rows that the database itself generates into the real schema, since writing them Run by Run is slow."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from dvergr_nb.session import Session

TENANT: Final = "bench"
RUNS: Final = 100_000
STEPS: Final = 10
ORPHANS: Final = 1_000

_IDS: Final = """
CREATE TEMP MACRO stamp(place) AS TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_milliseconds(place);
CREATE TEMP MACRO an_id(place, variant) AS CAST(
    format('{:08x}-{:04x}-7{:03x}-{}000-{:012x}', (1767225600000 + place) >> 16, (1767225600000 + place) & 65535,
           place & 4095, variant, place) AS UUID);
"""
_TRIGGERS: Final = """
INSERT INTO dv.messages (id, tenant_id, user_id, room, sender, recipient, content, thread_root_id, type, created_at)
SELECT an_id(n * $step, '8'), $tenant, $tenant, 'room' || n % 7, 'user', '_runs', 'please do number ' || n,
    an_id(n * $step, '8'), 'user/message', stamp(n * $step)
FROM range($runs) AS given(n)
"""
_ACTIVITIES: Final = """
INSERT INTO dv.messages (
    id, tenant_id, user_id, room, sender, recipient, content, reply_to, thread_root_id, run_id, type, created_at
)
SELECT an_id(n * $step + 1 + place, '8'), $tenant, $tenant, 'room' || n % 7, 'actor' || n % 5, '_activity',
    repeat('x', 150) || ' ' || place, an_id(n * $step, '8'), an_id(n * $step, '8'), an_id(n * $step, '9'), 'activity',
    stamp(n * $step + 1 + place)
FROM range($runs) AS given(n), range($step - 1) AS said(place)
ORDER BY n, place
"""
_FACTS: Final = """
INSERT INTO dv.activities (id, tenant_id, message_id, place, run_id, kind, verb, status, tool_name, happened_at)
SELECT an_id(n * $step + 1 + place, 'a'), $tenant, an_id(n * $step + 1 + place, '8'), 0, an_id(n * $step, '9'), 'tool',
    'invoke', 'ok', 'tool' || place, stamp(n * $step + 1 + place)
FROM range($runs) AS given(n), range($step - 1) AS said(place)
ORDER BY n, place
"""
_WORK: Final = """
INSERT INTO dv.runs (
    id, tenant_id, user_id, kind, room, actor, label, "trigger", status, created_at, started_at, updated_at, ended_at,
    revision, boot_id, steps, start_turn_count
)
SELECT an_id(n * $step, '9'), $tenant, $tenant, 'workflow', 'room' || n % 7, 'actor' || n % 5, 'job ' || n,
    an_id(n * $step, '8'), if(n % $every = 0, 'running', 'completed'), stamp(n * $step), stamp(n * $step),
    stamp(n * $step + 10), if(n % $every = 0, NULL, stamp(n * $step + 10)), 1, 'a life that is gone', 10, 0
FROM range($runs) AS given(n)
"""


def fill(path: Path) -> None:
    """Makes a store of 100,000 Runs with 1,000,000 activities, of which 1,000 Runs were left running."""
    Session(str(path), tenant_id=TENANT, user_id=TENANT).close()
    con = duckdb.connect(str(path))
    con.execute(_IDS)
    many = {"tenant": TENANT, "runs": RUNS, "step": STEPS + 1}
    con.execute("BEGIN")
    for statement in (_TRIGGERS, _ACTIVITIES, _FACTS):
        con.execute(statement, many)
    con.execute(_WORK, many | {"every": RUNS // ORPHANS})
    con.execute("COMMIT")
    con.execute("CHECKPOINT")
    con.close()
