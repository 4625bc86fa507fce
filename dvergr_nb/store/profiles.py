"""Statements about the versions of profiles."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from dvergr_nb.store.table import Row, Table

if TYPE_CHECKING:
    from dvergr_nb.records.profile import Profile

PROFILES = Table("dv.profiles", ("tenant_id", "id", "version", "hash", "content", "user_id", "created_at"))

_LATEST = """
SELECT tenant_id, id, max(version), arg_max(hash, version), arg_max(created_at, version) FROM dv.profiles GROUP BY tenant_id, id
"""
_ONE = "SELECT version, hash, created_at FROM dv.profiles WHERE tenant_id = ? AND id = ? AND version = ?"
_MADE_THEN = """
SELECT version, hash, created_at FROM dv.profiles WHERE tenant_id = ? AND id = ? AND hash = ? AND created_at = ?
"""


class Version(NamedTuple):
    """A version of a profile without what it says."""

    number: int
    hash: str
    created_at: dt.datetime


def row(profile: Profile, tenant_id: str, user_id: str, at: dt.datetime) -> Row:
    """As it is stored."""
    content = json.dumps(profile.content(), ensure_ascii=False)
    return (tenant_id, profile.id, profile.version, profile.hash, content, user_id, at)


def from_row(found: Sequence[Any]) -> Profile:
    """The profile of its content, version and time."""
    from dvergr_nb.records.profile import profile_of

    content, version, at = found
    return profile_of(json.loads(content), version=version, created_at=at)


def latest(con: duckdb.DuckDBPyConnection) -> Mapping[tuple[str, str], Version]:
    """The latest version of every profile of every tenant."""
    return {(tenant, an_id): Version(*version) for tenant, an_id, *version in con.execute(_LATEST).fetchall()}


def version_of(con: duckdb.DuckDBPyConnection, tenant_id: str, profile_id: str, number: int) -> Version | None:
    """That version of a profile."""
    found = con.execute(_ONE, [tenant_id, profile_id, number]).fetchall()
    return Version(*found[0]) if found else None


def made_then(con: duckdb.DuckDBPyConnection, tenant_id: str, profile: Profile, at: dt.datetime) -> Version | None:
    """The version with that content that was made at that time."""
    found = con.execute(_MADE_THEN, [tenant_id, profile.id, profile.hash, at]).fetchall()
    return Version(*found[0]) if found else None
