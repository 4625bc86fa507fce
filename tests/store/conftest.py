"""A store in memory for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dvergr_nb.store.store import Store
from tests.store.making import opened


@pytest.fixture
def store() -> Iterator[Store]:
    """A new store in memory, of tenant `t`."""
    made = opened()
    yield made
    made.close()
