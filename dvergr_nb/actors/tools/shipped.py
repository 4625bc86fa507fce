"""The tools that come with the package; each function makes one, or a few, for an agent: `d.tools.files("data")`."""

from __future__ import annotations

from dvergr_nb.actors.tools.evaluating import python_eval
from dvergr_nb.actors.tools.fetching import http_get
from dvergr_nb.actors.tools.files import files
from dvergr_nb.actors.tools.querying import query_frame, query_runs
from dvergr_nb.actors.tools.retrieving import Chunk, Retriever, retriever
from dvergr_nb.actors.tools.skills import load_skill

__all__ = ["Chunk", "Retriever", "files", "http_get", "load_skill", "python_eval", "query_frame", "query_runs", "retriever"]
