"""Molecules as datasets: from any file, kept as stores, with the same features whatever the file holds."""

import builtins
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.data.molecule_rows import Invalid
from nmrgcl.data.molecules import featurise, read_molecules
from nmrgcl.data.molecules.dataset import write_molecules
from nmrgcl.data.read import import_path, read_path
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, SettingError
from tests.test_store import assert_equal

CSV = """num,name,smiles,active,logp
1,ethanol,CCO,1,-0.31
2,broken,C(,0,1.5
4,"benzene, pure",c1ccccc1,,2.13
7,lactic acid,C[C@H](O)C(=O)O,0,
9,butene,C/C=C/C,1,2.0
11,anything,*CC,1,0
"""
GRAPHS = featurise(["CCO", "c1ccccc1", "C[C@H](O)C(=O)O", "C/C=C/C"])[0]
INVALID = (Invalid(3, "C(", "it is not a SMILES"), Invalid(7, "*CC", "atom 1 is not an element"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(folder: Path, text: str = CSV, name: str = "drugs.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "rdkit":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)


def assert_drugs(dataset: Dataset) -> None:
    """Everything that is known about the four valid rows."""
    molecules = dataset.molecules
    assert molecules is not None
    assert list(molecules.smiles) == ["CCO", "c1ccccc1", "C[C@H](O)C(=O)O", "C/C=C/C"]
    assert molecules.ids == ["ethanol", "benzene, pure", "lactic acid", "butene"]
    assert molecules.lines.tolist() == [2, 4, 5, 6]
    assert molecules.tasks == ("active", "logp")
    nan = float("nan")
    np.testing.assert_array_equal(molecules.targets, np.array([[1, -0.31], [nan, 2.13], [0, nan], [1, 2]], np.float32))
    assert (molecules.rows, molecules.skipped, molecules.invalid) == (6, 2, INVALID)
    assert_equal(dataset.graphs, GRAPHS)


def test_a_file_is_the_same_in_memory_in_a_store_and_from_the_cache(tmp_path: Path) -> None:
    path = write(tmp_path)
    write_molecules(tmp_path / "one", path)
    assert_drugs(open_dataset(tmp_path / "one"))
    write_dataset(tmp_path / "two", open_dataset(tmp_path / "one"))
    assert_drugs(open_dataset(tmp_path / "two"))
    loaded = load(str(path))
    assert_drugs(loaded)
    assert loaded.store is not None, "it was not kept"
    assert (loaded.name, loaded.source) == ("drugs", str(path))


def test_once_a_store_exists_rdkit_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = write(tmp_path), write(tmp_path, CSV, "other.csv")
    load(str(path))
    import_path(path, tmp_path / "store")
    without_rdkit(monkeypatch)
    assert_drugs(load(str(path)))
    assert_drugs(load(str(tmp_path / "store")))
    with pytest.raises(DataError, match="reading SMILES needs RDKit"):
        load(str(other))


def test_where_nothing_can_be_kept_molecules_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "file"))
    dataset = load(str(write(tmp_path)))
    assert dataset.store is None
    assert_drugs(dataset)


def test_other_options_are_another_dataset(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert read_path(path).molecules is not None
    chosen = read_path(path, labels=["active"])
    assert chosen.molecules is not None
    assert chosen.molecules.tasks == ("active",)
    assert chosen.classes == (0, 1)
    assert chosen.y is not None
    assert chosen.y.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("values", ["1,1,1", "0,2,2", "0.5,1,0"])
def test_only_one_task_of_zeros_and_ones_makes_classes(tmp_path: Path, values: str) -> None:
    rows = "".join(f"C,{value}\n" for value in values.split(","))
    dataset = load(str(write(tmp_path, f"smiles,y\n{rows}")))
    assert dataset.classes == ()
    assert dataset.y is None
    assert dataset.molecules is not None
    assert dataset.molecules.targets.shape == (3, 1)


def test_labels_that_are_small_numbers_take_a_byte_each(tmp_path: Path) -> None:
    write_molecules(tmp_path / "store", write(tmp_path, "smiles,a,b\nC,1,0\nCC,,1\nCCC,0,\n"))
    assert (tmp_path / "store" / "extra.molecules.targets.bin").stat().st_size == 6
    molecules = open_dataset(tmp_path / "store").molecules
    assert molecules is not None
    nan = float("nan")
    np.testing.assert_array_equal(molecules.targets, np.array([[1, 0], [nan, 1], [0, nan]], np.float32))


def test_features_are_numbered_alike_whatever_a_file_holds(tmp_path: Path) -> None:
    small = load(str(write(tmp_path, "smiles\nC\nCC\n", "small.csv")))
    large = load(str(write(tmp_path)))
    spec = choose_features(small, edges="auto")
    assert spec == choose_features(large, edges="labels")
    assert (spec.kind, spec.width, spec.edge_shape) == ("molecules", 123, (4, 2))
    assert FeatureSpec.from_dict(spec.to_dict()) == spec
    graphs = apply_features(large, spec)
    assert_equal(graphs, GRAPHS)
    assert choose_features(large).edges is None


def test_a_model_of_molecules_is_not_for_other_graphs(tmp_path: Path) -> None:
    spec = choose_features(load(str(write(tmp_path))))
    with pytest.raises(DataError, match="motifs: these features need molecules"):
        apply_features(load("motifs"), spec)


def test_a_csv_file_is_edges_or_molecules_by_its_header(tmp_path: Path) -> None:
    edges = load(str(write(tmp_path, "source,target,smiles\n0,1,2\n", "edges.csv")))
    assert edges.molecules is None
    assert load(str(write(tmp_path, "Name,SMILES\na,C\nb,CC\n"))).molecules is not None
    packed = load(str(write(tmp_path, name="drugs.csv.gz")))
    assert_drugs(packed)


def test_a_csv_file_that_is_neither_gets_both_reasons(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(str(write(tmp_path, "a,b\n1,2\n")))
    told = str(caught.value)
    assert "there is no column source, target (edges) or smiles (molecules), only a, b" in told
    assert "looks like" not in told
    with pytest.raises(DataError, match=r"'structure' looks like SMILES: .* --smiles structure --out STORE"):
        load(str(write(tmp_path, "structure,b\nCCO,2\nCCN,1\n")))
    dataset = read_path(tmp_path / "drugs.csv", smiles="structure")
    assert dataset.counts[0] == 2


def test_all_rows_invalid_or_one_where_none_may_be(tmp_path: Path) -> None:
    path = write(tmp_path, "smiles\nC(\nxx\n")
    for read in (lambda: load(str(path)), lambda: import_path(path, tmp_path / "store")):
        with pytest.raises(DataError, match=r"none of its 2 rows is a valid molecule; line 2, 'C\('"):
            read()
    assert not (tmp_path / "store").exists()
    path = write(tmp_path)
    for read in (lambda: read_path(path, invalid="error"), lambda: import_path(path, tmp_path / "s", invalid="error")):
        with pytest.raises(DataError, match=r"line 3, 'C\(': it is not a SMILES.*; correct it, or skip such rows"):
            read()
    with pytest.raises(SettingError, match="it must be skip or error"):
        import_path(path, tmp_path / "store", invalid="maybe")


def test_many_molecules_are_written_in_parts_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nmrgcl.data.molecules import dataset, smiles

    monkeypatch.setattr(smiles, "AT_A_TIME", 3)
    monkeypatch.setattr(dataset, "AT_A_TIME", 3)
    told: list[tuple[int, int]] = []
    texts = ["C" * (1 + i % 5) if i % 4 else "C(" for i in range(11)]
    rows = "".join(f"{text},{i % 2}\n" for i, text in enumerate(texts))
    path = write(tmp_path, f"smiles,y\n{rows}")
    write_molecules(tmp_path / "store", path, watch=lambda done, total: told.append((done, total)))
    assert told == [(3, 11), (6, 11), (9, 11), (11, 11)]
    stored, read = open_dataset(tmp_path / "store"), read_molecules(path)
    assert stored.molecules is not None
    assert list(stored.molecules.smiles) == read.smiles
    assert torch.equal(stored.graphs.x, read.graphs.x)
    assert stored.graphs.y is not None
    assert stored.graphs.y.tolist() == [i % 2 for i in range(11) if i % 4]
    assert [one.row for one in stored.molecules.invalid] == [2, 6, 10]


def test_what_was_cached_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    load(str(path))
    monkeypatch.setattr("nmrgcl.data.molecules.dataset.list_molecules", lambda *_, **__: pytest.fail("read again"))
    assert_drugs(load(str(path)))


@pytest.mark.parametrize("name", ["BBBP", "ToxCast", "SIDER", "ClinTox"])
def test_sets_of_molecules_have_the_atoms_and_bonds_that_rdkit_counts(
    mirror: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from rdkit import Chem

    monkeypatch.setenv("NMRGCL_MIRROR", str(mirror))
    dataset = load(name)
    assert dataset.molecules is not None
    assert dataset.store is not None
    some = range(0, len(dataset.molecules), 10)
    found = [Chem.MolFromSmiles(dataset.molecules.smiles[i]) for i in some]
    graphs = dataset.graphs.take(torch.tensor(some))
    assert graphs.node_ptr.diff().tolist() == [one.GetNumAtoms() for one in found]
    assert graphs.edge_ptr.diff().tolist() == [2 * one.GetNumBonds() for one in found]
