"""Every public name has an example in its docstring, which runs as printed."""

import doctest
import inspect
from pathlib import Path

import pytest

import nmrgcl

LIBRARIES = {
    "networkx": "networkx",
    "_pyg": "torch_geometric",
    "MoleculeEmbedder": "rdkit",
    "tensorboard": "tensorboard",
}
"""What an example with this word needs."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
@pytest.mark.parametrize("name", nmrgcl.__all__)
def test_the_example_of_a_public_name_runs_as_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = inspect.getdoc(getattr(nmrgcl, name)) or ""
    for word, library in LIBRARIES.items():
        if word in text:
            pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert example.examples, f"{name} has no example"
    assert doctest.DocTestRunner().run(example).failed == 0, capsys.readouterr().out
