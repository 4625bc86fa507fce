"""What a paused Run waits for: one envelope per open question."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import mended, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One question to a person. `body` is plain data: what is to be decided."""

    id: str
    kind: str
    """The reason of the pause it belongs to: `approval`, `result-review`, `once-effect`."""
    body: Mapping[str, Any] = field(default_factory=dict)


def checked(envelope: object) -> Envelope:
    """The envelope, its text mended. Raises `BadInput` where it is none, or where its body is no plain data."""
    if not isinstance(envelope, Envelope) or not isinstance(envelope.body, Mapping):
        raise BadInput(f"a Run pauses with envelopes whose body is a mapping, not with {shown(envelope)}")
    if not all(isinstance(word, str) and word for word in (envelope.id, envelope.kind)):
        raise BadInput(f"id and kind of an envelope are words, not {envelope.id!r} and {envelope.kind!r}")
    try:
        body = json.loads(mended(json.dumps(dict(envelope.body), allow_nan=False, ensure_ascii=False)))
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(f"the body of an envelope must be plain data: {problem}") from None
    return dataclasses.replace(envelope, id=mended(envelope.id), kind=mended(envelope.kind), body=body)
