"""What `import dvergr_nb` offers is what it says it offers, and it is cheap."""

from __future__ import annotations

import builtins
import json
import re
import subprocess
import sys

import pytest

import dvergr_nb
from tests.contract.source import ROOT

HEAVY = ("pandas", "numpy", "pyarrow", "anywidget", "ipywidgets", "IPython", "duckdb", "pydantic_ai", "dask", "matplotlib")


def loaded_by(code: str) -> set[str]:
    """The top-level modules in a fresh interpreter after running code."""
    report = f"{code}\nimport sys; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def documents() -> str:
    """The text of the README and the code and prose of the notebooks."""
    text = (ROOT / "README.md").read_text()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        text += "\n".join("".join(cell["source"]) for cell in cells)
    return text


def test_all_is_sorted_and_every_name_in_it_exists() -> None:
    assert list(dvergr_nb.__all__) == sorted(set(dvergr_nb.__all__))
    for name in dvergr_nb.__all__:
        assert getattr(dvergr_nb, name) is not None


def test_all_is_what_the_root_gives_without_underscore() -> None:
    given = {name for name in dir(dvergr_nb) if not name.startswith("_")}
    modules = {"annotations", "importlib", "Any", "Final", *(p.stem for p in (ROOT / "dvergr_nb").iterdir())}
    assert given - modules == set(dvergr_nb.__all__)


def test_no_public_name_shadows_a_builtin() -> None:
    assert not set(dvergr_nb.__all__) & set(vars(builtins))


def test_a_name_that_is_not_there_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dvergr_nb.no_such_name


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import dvergr_nb") & set(HEAVY)


def test_loading_the_extension_loads_no_dataframes() -> None:
    shell = "from IPython.core.interactiveshell import InteractiveShell as S\nimport dvergr_nb"
    loaded = loaded_by(f"{shell}\ndvergr_nb.load_ipython_extension(S.instance())")
    assert not loaded & {"pandas", "pyarrow", "pydantic_ai", "dask", "matplotlib"}


def test_every_public_name_is_in_the_readme_or_in_a_notebook() -> None:
    text = documents()
    hooks = {"load_ipython_extension", "unload_ipython_extension"}  # typed as %load_ext and %unload_ext
    missing = [name for name in dvergr_nb.__all__ if name not in hooks and not re.search(rf"\b{name}\b", text)]
    assert not missing
