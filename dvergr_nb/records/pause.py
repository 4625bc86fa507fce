"""What a paused Run waits for: one envelope per open question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One question to a person. `body` is plain data: what is to be decided."""

    id: str
    kind: str
    """The reason of the pause it belongs to: `approval`, `result-review`, `once-effect`."""
    body: Mapping[str, Any] = field(default_factory=dict)
