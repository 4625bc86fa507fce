"""What the README tells people to type is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import dvergr_nb
from tests.contract.source import ROOT, tracked

README = (ROOT / "README.md").read_text()


def test_every_command_of_the_readme_names_a_script_and_an_option_that_exist() -> None:
    commands = re.findall(r"bash ([\w./]+)((?: --?[\w-]+)*)", README)
    assert {"notebooks/run", "tests/run"} <= {script for script, _ in commands}
    for script, options in commands:
        text = (ROOT / script).read_text()
        assert all(option in text for option in options.split()), (script, options)


def test_every_file_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+|[A-Z]+\.md)`", README)) - {".dvergr/store.duckdb"}
    assert named
    assert not [name for name in named if not (ROOT / name).exists() and not any(t.startswith(name) for t in tracked())]


def test_every_magic_of_the_readme_exists_and_every_magic_is_in_the_readme(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    before = {name for names in shell.magics_manager.magics.values() for name in names}
    dvergr_nb.load_ipython_extension(shell)
    after = {name for names in shell.magics_manager.magics.values() for name in names}
    dvergr_nb.unload_ipython_extension(shell)
    ours = {name.removesuffix(";") for name in after - before}
    named = set(re.findall(r"%{1,2}([a-z_]+)", README)) - {"load_ext", "run", "unload_ext", "reload_ext"}
    assert named == ours


def test_every_name_of_the_module_in_the_readme_is_public() -> None:
    named = set(re.findall(r"\bd\.([A-Za-z_]+)", README))
    assert named
    assert named <= set(dvergr_nb.__all__)
