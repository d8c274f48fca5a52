"""Files that were written by version 1.0 are read, and what is written today has the same names and types.

A file that cannot be read any more is lost to its users. A new key does no harm: ``python -m tests.formats.schema``
writes the schema anew, and docs/file-formats.md says what the key means.
"""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from nmrgcl import GraphEmbedder, load
from nmrgcl.model_folder import load_model
from nmrgcl.run.embeddings import read_embeddings
from nmrgcl.run.evaluation import read_evaluation, read_splits, subject_of
from nmrgcl.run.folder import read_record
from tests.formats.schema import FILE, schema
from tests.formats.write import GRAPHS, MOLECULES, command, in_new_folder, write_files

FILES = Path(__file__).with_name("files")
PAGE = Path(__file__).parents[2] / "docs" / "file-formats.md"
SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files in the working directory, where commands may add locks."""
    monkeypatch.chdir(shutil.copytree(FILES, tmp_path / "files"))
    return Path()


def test_a_store_is_read(files: Path) -> None:
    stored, read = load(files / "store"), load(files / "graphs.jsonl")
    assert list(stored.ids("graph") or ()) == [graph["id"] for graph in GRAPHS]
    assert stored.classes == read.classes
    for name in ("x", "edge_index", "edge_weight", "node_ptr", "y"):
        assert torch.equal(getattr(stored.graphs, name), getattr(read.graphs, name)), name


def test_a_model_embeds_as_it_did(files: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra csv)")
    known = [read_embeddings(files / f"embeddings.{ending}") for ending in ("npz", "csv", "parquet")]
    z = GraphEmbedder.load(files / "model", normalise="none", device="cpu").transform(files / "store")
    for table in known:
        assert np.abs(z - table.z).max() < 1e-4
        assert list(table.id) == ["edge", "path"]
        assert table.y is not None
        assert list(table.y) == ["small", "large"]


def test_a_run_and_its_evaluation_are_read(files: Path) -> None:
    record = read_record(files / "run")
    assert record is not None
    assert (record.dataset, record.settings["encoder"]["units"]) == ("motifs", 4)
    models = [files / "run" / f"seed-{seed}" for seed in (0, 1)]
    loaded = [load_model(folder) for folder in models]
    assert [model.settings.seed for model in loaded] == [0, 1]
    motifs = load("motifs")
    scores = read_evaluation(files / "run", subject_of(models, motifs, loaded[0].features), "motifs")
    assert scores is not None
    assert len(scores["scores"]) == 2
    assert {seed: len(tested) for seed, tested in read_splits(files / "run").items()} == {0: 300, 1: 300}


def test_results_are_read_from_their_folder_and_from_a_pack(files: Path) -> None:
    listed = command("results", "list", "--results", "results", "--json")
    command("results", "unpack", "cells.nmrgcl-results", "--results", "again")
    assert (
        json.loads(listed)["results"]
        == json.loads(command("results", "list", "--results", "again", "--json"))["results"]
    )
    assert len(json.loads(listed)["results"]) == 2


def test_an_archive_of_molecules_is_read(files: Path) -> None:
    rows = load(files / "library.molecules").molecules
    assert rows is not None
    assert list(rows.smiles) == 3 * [smiles for smiles, _, _ in MOLECULES]


def test_a_fine_tuned_model_predicts_as_it_did(files: Path) -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
    command("predict", "predictor", "molecules.csv", "--device", "cpu", "--out", "again.csv")
    before, after = (_rows(Path(name)) for name in ("predictions.csv", "again.csv"))
    for column in ("toxic_mean", "toxic_spread", "toxic_probability", "similarity"):
        assert [float(row[column]) for row in after] == pytest.approx([float(row[column]) for row in before], abs=1e-4)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files_written_today_have_the_same_names_and_types() -> None:
    for library in ("pyarrow", "rdkit"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    with in_new_folder() as folder:
        write_files()
        assert schema(folder) == SCHEMA


@pytest.mark.parametrize("name", SCHEMA)
def test_the_page_names_every_file_and_what_it_holds(name: str) -> None:
    named = set(re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8")))
    file = Path(name).name
    assert {file, f"*{Path(name).suffix}"} & named, file
    held = () if file.endswith((".safetensors", ".molecules", "SHA256SUMS")) else SCHEMA[name]
    assert [one for one in held if one not in named and not re.fullmatch(r"z\d|toxic_.*", one)] == []
