"""Calls that are tried again are tried at once, so that no test waits."""

from __future__ import annotations

import pytest

from dvergr_nb.actors.models import failures
from tests.rigs.session import opened

__all__ = ["opened"]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_PAUSE_S", 0.0)
