"""The session that these tests open."""

from __future__ import annotations

from tests.rigs.session import opened

__all__ = ["opened"]
