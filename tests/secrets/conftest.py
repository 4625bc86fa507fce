"""What these tests are given."""

from __future__ import annotations

from tests.secrets.everywhere import everywhere
from tests.telemetry.conftest import seen

__all__ = ["everywhere", "seen"]
