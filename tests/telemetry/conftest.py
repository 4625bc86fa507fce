"""An exporter that keeps what was recorded, for as long as a test lasts."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dvergr_nb.actors.models import failures
from tests.telemetry.seen import Seen


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The spans that have ended. The provider is put in for this test alone: OpenTelemetry sets one per process."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return Seen(exporter)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_PAUSE_S", 0.0)
