"""Spans as tests look at them."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Seen:
    """The spans that have ended, in the order in which they began."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of that name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only one of that name."""
        (span,) = self.named(name)
        return span

    def tree(self) -> list[str]:
        """All names, those of children indented below their parents."""
        spans = self.spans
        known = {span.context.span_id for span in spans if span.context}

        def below(parent: int | None, depth: int) -> list[str]:
            found = []
            for span in spans:
                its = span.parent.span_id if span.parent and span.parent.span_id in known else None
                if its == parent and span.context:
                    found += [f"{'  ' * depth}{span.name}", *below(span.context.span_id, depth + 1)]
            return found

        return below(None, 0)


def of(span: ReadableSpan) -> dict[str, Any]:
    """Its attributes."""
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    """The id of its parent."""
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    """Its id."""
    assert span.context is not None
    known: int = span.context.span_id
    return known
