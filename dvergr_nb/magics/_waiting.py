"""Waiting for the disk while the loop is held: bounded, and open to an interrupt."""

from __future__ import annotations

import queue
from concurrent.futures import Future
from typing import Any, Final

DURABLE_S: Final = 10.0
"""How long a magic waits for the disk. What it asked for goes on after that, and it says so."""


def is_settled(future: Future[Any], limit_s: float) -> bool:
    """Whether the writer thread has settled it within so many seconds. Raises what it was settled with."""
    settled: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    future.add_done_callback(settled.put)
    try:
        settled.get(timeout=limit_s).result()
    except queue.Empty:
        return False
    return True
