"""Several files of molecules as one dataset: the molecules of each in order, and repeats counted but kept."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl.data import catalog, loading, locate
from nmrgcl.data.catalog import CatalogEntry, find
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.loading import load
from nmrgcl.data.molecules.joined import write_joined
from nmrgcl.data.motifs import motifs
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError
from nmrgcl.store import open_store
from tests.test_cli import run

FIRST, SECOND = ["CCO", "c1ccccc1", "CCN"], ["CC", "CCO", "C1CC1", "CCO"]
CSV = "name,smiles,active\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no mirror."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    return tmp_path / "home"


def write_smi(path: Path, smiles: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(smiles) + "\n")
    return path


def same_graphs(one: Dataset, other: Dataset) -> bool:
    names = ("x", "edge_index", "edge_attr", "node_ptr", "batch", "pair", "row_ptr")
    return all(torch.equal(getattr(one.graphs, name), getattr(other.graphs, name)) for name in names)


def test_two_files_are_one_after_the_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = write_smi(tmp_path / "a.smi", FIRST), write_smi(tmp_path / "b.smi", [*SECOND, "no molecule"])
    out, _ = run(capsys, "datasets", "import", str(first), str(second), "--out", str(tmp_path / "both"), "--json")
    facts = json.loads(out)
    assert (facts["graphs"], facts["invalid_rows"], facts["repeated_molecules"]) == (7, 1, 2)
    open_store(tmp_path / "both", verify=True)
    both, whole = load(str(tmp_path / "both")), load(str(write_smi(tmp_path / "c.smi", FIRST + SECOND)))
    assert same_graphs(both, whole)
    rows = both.molecules
    assert rows is not None
    assert list(rows.smiles) == FIRST + SECOND
    assert rows.lines.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert [one.row for one in rows.invalid] == [8]
    assert (both.name, rows.rows) == ("both", 8)


def test_repeats_are_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [str(write_smi(tmp_path / f"{name}.smi", smiles)) for name, smiles in (("a", FIRST), ("b", SECOND))]
    out, _ = run(capsys, "datasets", "import", *files, "--out", str(tmp_path / "both"))
    assert "molecules that repeat the SMILES of an earlier one, and are kept: 2" in out


def test_labels_names_and_classes_are_those_of_all(tmp_path: Path) -> None:
    """The first file has one class only, so that alone its molecules have no classes."""
    (tmp_path / "a.csv").write_text(CSV + "x,CCO,1\ny,CC,1\n")
    (tmp_path / "b.csv").write_text(CSV + "z,CN,0\nw,CCC,\n")
    parts = [load(str(tmp_path / f"{name}.csv")) for name in "ab"]
    assert parts[0].classes == ()
    write_joined(tmp_path / "both", parts, name="both")
    both = open_dataset(tmp_path / "both")
    assert both.classes == (0, 1)
    assert both.y is not None
    assert both.y.tolist() == both.graphs.y.tolist() == [1, 1, 0, -1]  # type: ignore[union-attr]
    rows = both.molecules
    assert rows is not None
    assert rows.ids == ["x", "y", "z", "w"]
    assert np.isnan(rows.targets[:, 0]).tolist() == [False, False, False, True]
    assert rows.lines.tolist() == [2, 3, 5, 6]


def test_files_that_do_not_go_together_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV + "x,CCO,1\ny,CC,0\n")
    smi = write_smi(tmp_path / "b.smi", SECOND)
    command = ["datasets", "import", str(tmp_path / "a.csv")]
    _, err = run(capsys, *command, str(smi), "--out", str(tmp_path / "s"), code=2)
    assert "b: its labels are none, but those of a are active; choose columns that all files have" in err
    write_dataset(tmp_path / "graphs", motifs(graphs=4))
    _, err = run(capsys, *command, str(tmp_path / "graphs"), "--out", str(tmp_path / "s"), code=2)
    assert "is not a file of molecules; only files of molecules can be joined" in err
    _, err = run(capsys, *command, str(tmp_path / "nowhere.smi"), "--out", str(tmp_path / "s"), code=2)
    assert "nowhere.smi: no such file or folder" in err
    assert not (tmp_path / "s").exists()


@pytest.fixture
def small(home: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogEntry:
    """The catalog's three sets with the numbers of small files."""
    numbers = {"ZINC250k": (3, 4.0, 10 / 3), "MOSES": (4, 2.75, 2.0), "ZINC-2.2M": (7, 23 / 7, 18 / 7)}
    for name, (graphs, nodes, edges) in numbers.items():
        entry = find(name)
        assert entry is not None
        made = replace(entry, graphs=graphs, nodes=nodes, edges=edges, sha256={})
        monkeypatch.setitem(catalog._BY_NAME, catalog._plain(name), made)
    entry = find("ZINC-2.2M")
    assert entry is not None
    return entry


def test_a_set_of_the_catalog_is_made_of_two_others(home: Path, small: CatalogEntry) -> None:
    write_smi(home / "zinc" / "zinc250k.smi", FIRST)
    assert locate.locate(small) is None
    with pytest.raises(DataError, match="MOSES: cannot be downloaded as a single file of SMILES"):
        load("ZINC-2.2M")
    write_smi(home / "zinc" / "moses_zinc_clean_leads.smi", SECOND)
    data = load("zinc_2.2m")
    assert (data.name, data.counts[0], data.kind) == ("ZINC-2.2M", 7, "molecule")
    assert data.source == f"{home}/zinc/zinc250k.smi, {home}/zinc/moses_zinc_clean_leads.smi"
    assert data.molecules is not None
    assert list(data.molecules.smiles) == FIRST + SECOND


def test_it_is_joined_once_and_again_when_a_file_has_changed(
    home: Path, small: CatalogEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = list[int]()

    def counted(*arguments: object, **options: object) -> None:
        joins.append(1)
        write_joined(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "write_joined", counted)
    write_smi(home / "zinc" / "zinc250k.smi", FIRST)
    write_smi(home / "zinc" / "moses_zinc_clean_leads.smi", SECOND)
    load("ZINC-2.2M")
    load("ZINC-2.2M")
    assert len(joins) == 1
    write_smi(home / "zinc" / "moses_zinc_clean_leads.smi", SECOND[::-1])
    data = load("ZINC-2.2M")
    assert len(joins) == 2
    assert data.molecules is not None
    assert list(data.molecules.smiles) == FIRST + SECOND[::-1]


def test_it_is_read_where_nothing_can_be_written(
    home: Path, small: CatalogEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_smi(home / "zinc" / "zinc250k.smi", FIRST)
    write_smi(home / "zinc" / "moses_zinc_clean_leads.smi", SECOND)
    (home / "stores").write_text("in the way")
    data = load("ZINC-2.2M")
    assert (data.store, data.counts[0]) == (None, 7)


def test_one_file_of_that_name_will_do(home: Path, small: CatalogEntry) -> None:
    placed = write_smi(home / "zinc" / "ZINC-2.2M.smi", FIRST + SECOND)
    assert load("ZINC-2.2M").source == str(placed)


def test_the_numbers_are_those_of_the_two() -> None:
    first, second, both = (find(name) for name in ("ZINC250k", "MOSES", "ZINC-2.2M"))
    assert first and second and both  # noqa: PT018
    assert both.graphs == first.graphs + second.graphs
    for name in ("nodes", "edges"):
        mean = sum(getattr(one, name) * one.graphs for one in (first, second)) / both.graphs
        assert abs(mean - getattr(both, name)) < 0.01
