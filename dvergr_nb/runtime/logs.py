"""Loggers of what runs other people's code: what that raises is logged, its secrets are not."""

from __future__ import annotations

import logging
import traceback

from dvergr_nb.runtime.secrets import scrub


def logger(name: str) -> logging.Logger:
    """The logger of that name."""
    found = logging.getLogger(name)
    found.addFilter(_scrubbed)
    return found


def _scrubbed(record: logging.LogRecord) -> bool:
    """Has the record tell no secret; one that tells none stays as it is."""
    said = record.getMessage()
    if (clean := scrub(said)) != said:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[1] is not None:
        raised = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
        if (clean := scrub(raised)) != raised:
            record.exc_info, record.exc_text = None, clean
    return True
