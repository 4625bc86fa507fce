"""A body in two segments, two kernels and one store, shown through the board: what a pause needs of the runtime is there."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.notebooks.execute import SEAM
from tests.rigs.nbval import nbval


def test_a_paused_run_goes_on_in_the_next_kernel_and_takes_an_abort(tmp_path: Path) -> None:
    shutil.copy(SEAM / "scripted.py", tmp_path)
    asked = nbval(SEAM / "1_ask.ipynb", tmp_path)
    assert asked.ok, asked.report
    gone_on = nbval(SEAM / "2_go_on.ipynb", tmp_path)
    assert gone_on.ok, gone_on.report
    assert (asked.cells, gone_on.cells) == (7, 9)
