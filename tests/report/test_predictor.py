"""The page of a fine-tuned model: it holds the scores, escapes names, and needs RDKit for pictures only."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from nmrgcl.data.molecules import read_molecules
from nmrgcl.errors import DataError
from nmrgcl.predict.finetune import finetune_molecules
from nmrgcl.report import predictor, write_predictor_page
from tests.predict.planted import LENGTH, OXYGEN, tiny, write

pytest.importorskip("rdkit", reason="RDKit reads SMILES")
CPU = torch.device("cpu")


def page(tmp_path: Path, *, task: str | None = None) -> tuple[str, list[str]]:
    """The page of an ensemble of two, with a task whose name is no tag, and the scores it must show."""
    missing: list[object] = [
        None if row % 7 == 0 else value for row, value in enumerate(LENGTH if task else map(int, OXYGEN))
    ]
    columns: dict[str, list[object]] = {"<b>bold": missing, "oxygen": [*map(int, OXYGEN)]}
    write(tmp_path / "planted.csv", **columns)
    molecules = read_molecules(tmp_path / "planted.csv", labels=["<b>bold", "oxygen"])
    found = finetune_molecules(molecules, tiny(), split="random", seeds=2, task=task, device=CPU)
    write_predictor_page(tmp_path / "page.html", found, molecules)
    shown = [f"{mean:.3g}" for row in found.rows for mean, _ in row.scores.values()]
    return (tmp_path / "page.html").read_text(encoding="utf-8"), shown


def test_yes_or_no_tasks_have_curves_and_molecules(tmp_path: Path) -> None:
    text, shown = page(tmp_path)
    assert all(score in text for score in shown)
    for words in ("ROC curves", "Calibration", "Distance to the training set", "Most confident wrong", "before and"):
        assert words in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text
    assert "<script" not in text


def test_numbers_have_a_scatter_plot(tmp_path: Path) -> None:
    text, shown = page(tmp_path, task="numbers")
    assert all(score in text for score in shown)
    assert "Predictions and labels" in text
    assert "Least accurate predictions" in text
    assert "ROC curves" not in text


def test_without_rdkit_only_pictures_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(smiles: str) -> None:
        raise DataError("reading SMILES needs RDKit")

    monkeypatch.setattr(predictor, "draw_molecule", absent)
    text, _ = page(tmp_path)
    assert "No pictures of molecules" in text
    assert "Calibration" in text


def test_a_molecule_is_an_image_with_its_smiles_as_its_name() -> None:
    drawn = ElementTree.fromstring(predictor.draw_molecule("C/C=C\\C(=O)O"))
    assert drawn.tag.endswith("svg")
    assert drawn.get("aria-label") == "C/C=C\\C(=O)O"
    assert len(drawn.findall(".//{*}path")) > 5
