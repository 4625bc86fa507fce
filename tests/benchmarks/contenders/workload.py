"""The Run that every contender records: ten activities of about two hundred bytes, whose steps do nothing."""

from __future__ import annotations

import json
from typing import Any, Final

STEPS: Final = 10


def fact(step: int) -> dict[str, Any]:
    """What one step says."""
    return {"role": "tool", "i": step, "name": "probe", "content": "x" * 150}


TEXTS: Final = tuple(json.dumps(fact(step)) for step in range(STEPS))
"""The same as text."""
