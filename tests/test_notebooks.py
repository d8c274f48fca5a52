"""Notebooks are pairs: the .ipynb has the cells of the .py and no outputs; ``make notebooks`` writes and runs them."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def cells_of_script(text: str) -> list[tuple[str, str]]:
    """Kind and source of each cell of jupytext's percent format."""
    parts = re.split(r"^# %%( \[markdown\])?\n", text, flags=re.MULTILINE)[1:]
    found = []
    for marked, body in zip(parts[::2], parts[1::2], strict=True):
        lines = [re.sub(r"^# ?", "", line) for line in body.splitlines()] if marked else body.splitlines()
        found.append(("markdown" if marked else "code", "\n".join(lines).strip()))
    return found


def test_the_four_notebooks_are_pairs() -> None:
    assert NAMES == ["diagnosing_collapse", "molecules", "node_embeddings", "own_graphs"]
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_cells_of_its_script_and_no_outputs(name: str) -> None:
    script = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    found = [(cell["cell_type"], "".join(cell["source"]).strip()) for cell in cells]
    assert found == cells_of_script(script), "run make notebooks"
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code"
    )
    for kind, source in found:
        if kind == "code":
            compile(source, name, "exec")
