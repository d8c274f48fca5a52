"""Stores that are split, merged and verified: every file comes back byte for byte."""

import json
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from nmrgcl.data import extra_rows, shards
from nmrgcl.data.accept import as_dataset
from nmrgcl.data.categories import Categories
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.ids import as_ids
from nmrgcl.data.library import stores_of
from nmrgcl.data.motifs import motifs
from nmrgcl.data.read import import_path
from nmrgcl.data.shards import merge_stores, require_belonging, shard_store, store_facts, verify_store
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError
from nmrgcl.store import open_store, write_store
from tests.examples import random_graphs
from tests.test_cli import run
from tests.test_store import assert_equal

SIZES = [5, 0, 1, 7, 3, 0, 30, 2]
CSV = """name,smiles,active
ethanol,CCO,1
broken,C1CC,0
benzene,c1ccccc1,0
acid,CC(=O)O,
long,{},0
amine,CN,0
""".format("C" * 300)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "AT_A_TIME", 2)
    monkeypatch.setattr(extra_rows, "AT_A_TIME", 3)


def rich(sparse: bool = False) -> Dataset:
    """A dataset with every array that a store may keep."""
    graphs = replace(random_graphs(SIZES, density=0.3), y=torch.arange(len(SIZES)) % 2)
    chance, nodes, edges = np.random.default_rng(0), sum(SIZES), graphs.num_edges
    attributes = chance.random((nodes, 6), np.float32) * (chance.random((nodes, 6)) < 0.3)
    return replace(
        as_dataset(replace(graphs, x=torch.zeros(nodes, 1, dtype=torch.long), num_features=1)),
        classes=("a", "b"),
        node_labels=np.arange(nodes)[:, None],
        node_attributes=csr_array(attributes.astype(np.float32)) if sparse else attributes.astype(np.float32),
        edge_labels=chance.integers(-5, 300, (edges, 2)),
        edge_attributes=chance.random((edges, 1), np.float32),
        categories=Categories(("role",), (("boss", "clerk"),), chance.integers(-1, 2, (nodes, 1))),
        public_split=np.arange(nodes) % 4,
        graph_ids=as_ids(["x" * n for n in range(1, len(SIZES) + 1)]),
        node_ids=as_ids([f"n{n}é" for n in range(nodes)]),
        self_loops=3,
        duplicate_edges=2,
    )


def molecules(folder: Path, name: str = "m") -> Path:
    (folder / f"{name}.csv").write_text(CSV)
    import_path(folder / f"{name}.csv", folder / name)
    return folder / name


def stored(dataset: Dataset) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        write_dataset(folder / "store", dataset)
        return folder / "store"

    return write


def plain(folder: Path) -> Path:
    write_store(folder / "store", random_graphs(SIZES, categorical=True))
    return folder / "store"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "write", [stored(rich()), stored(rich(sparse=True)), molecules, plain], ids=["rich", "sparse", "molecules", "plain"]
)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_merged_shards_are_the_store_byte_for_byte(tmp_path: Path, write: Callable[[Path], Path], count: int) -> None:
    folder = write(tmp_path)
    found = shard_store(folder, tmp_path / "shards", count)
    assert stores_of(tmp_path / "shards") == found
    assert require_belonging([store_facts(shard) for shard in found], "here")
    merge_stores([*found[::-1]], tmp_path / "whole")  # They know their order.
    assert contents(tmp_path / "whole") == contents(folder)
    whole, first = open_store(folder), 0
    for shard in found:
        part = open_store(shard)
        assert verify_store(shard).graphs == len(part)
        assert_equal(part.graphs(), whole.take(torch.arange(first, first + len(part))))
        first += len(part)
    assert first == len(whole)


def test_a_shard_is_a_dataset_of_its_graphs(tmp_path: Path) -> None:
    data = rich()
    write_dataset(tmp_path / "store", data)
    first, second = (open_dataset(f) for f in shard_store(tmp_path / "store", tmp_path / "s", 2))
    nodes, edges = first.counts[1:]
    assert nodes == sum(SIZES[:4])
    assert data.node_labels is not None
    assert second.node_labels is not None
    assert data.edge_labels is not None
    assert second.edge_labels is not None
    assert data.categories is not None
    assert second.categories is not None
    assert second.node_labels[:, 0].tolist() == list(range(nodes, sum(SIZES)))
    assert np.array_equal(second.edge_labels, data.edge_labels[edges:])
    assert np.array_equal(second.categories.codes, data.categories.codes[nodes:])
    assert list(second.ids("graph") or ()) == ["x" * n for n in range(5, 9)]
    assert (second.ids("node") or ())[0] == f"n{nodes}é"
    assert (first.self_loops, second.self_loops) == (3, 0)
    assert second.classes == ("a", "b")


def test_shards_of_molecules_keep_lines_names_and_labels(tmp_path: Path) -> None:
    first, second = (open_dataset(f).molecules for f in shard_store(molecules(tmp_path), tmp_path / "s", 2))
    assert first is not None
    assert second is not None
    assert first.lines.tolist() == [2, 4]
    assert second.lines.tolist() == [5, 6, 7]
    assert (list(first.names or ()), list(second.names or ())) == (["ethanol", "benzene"], ["acid", "long", "amine"])
    assert list(second.smiles) == ["CC(=O)O", "C" * 300, "CN"]
    assert (first.rows, [one.row for one in first.invalid], second.rows, second.invalid) == (3, [3], 3, ())
    assert np.isnan(second.targets).tolist() == [[True], [False], [False]]


def test_stores_of_other_origin_are_merged_in_the_order_given(tmp_path: Path) -> None:
    one, two = molecules(tmp_path, "one"), molecules(tmp_path, "two")
    merge_stores([two, one], tmp_path / "both")
    both = open_dataset(tmp_path / "both")
    assert both.name == "both"
    assert both.molecules is not None
    assert both.molecules.lines.tolist() == [2, 4, 5, 6, 7, 9, 11, 12, 13, 14]
    assert (both.molecules.rows, both.molecules.scaffolds) == (12, None)
    assert both.y is not None
    assert both.y.tolist() == [1, 0, -1, 0, 0] * 2


def test_stores_of_different_formats_are_refused_in_one_line(tmp_path: Path) -> None:
    write_store(tmp_path / "a", random_graphs(SIZES))
    write_store(tmp_path / "b", random_graphs(SIZES, categorical=True))
    with pytest.raises(DataError, match="b: x is int64 × 1, but float32 × 4 in .*a; only stores of the same format"):
        merge_stores([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    with pytest.raises(DataError, match="only stores of the same format"):
        require_belonging([store_facts(tmp_path / "a"), store_facts(molecules(tmp_path))], "here")
    write_dataset(tmp_path / "d", rich())
    write_dataset(tmp_path / "e", replace(rich(), classes=("a", "c")))
    with pytest.raises(DataError, match="e: its classes differ from those of .*d; only stores of the same format"):
        merge_stores([tmp_path / "d", tmp_path / "e"], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    for count in (0, 9):
        with pytest.raises(DataError, match="has 8 graphs, so it can be split into at most 8 shards"):
            shard_store(folder, tmp_path / "s", count)
    with pytest.raises(DataError, match="is a store; choose an empty folder"):
        shard_store(folder, folder, 2)
    shard_store(folder, tmp_path / "s", 3)
    with pytest.raises(DataError, match="contains another store, shard-00002"):
        shard_store(folder, tmp_path / "s", 2)
    write_store(tmp_path / "extra", random_graphs(SIZES), extra={"mine": np.arange(3)})
    with pytest.raises(DataError, match="has extra arrays, which cannot be split"):
        shard_store(tmp_path / "extra", tmp_path / "t", 2)


def test_a_missing_a_repeated_and_a_damaged_shard_are_found(tmp_path: Path) -> None:
    first, second, third = shard_store(molecules(tmp_path), tmp_path / "s", 3)
    with pytest.raises(DataError, match=r"shard 1 of 3 \(counted from 0\) is missing"):
        merge_stores([first, third], tmp_path / "whole")
    with pytest.raises(DataError, match="shard 2 is given twice"):
        merge_stores([first, second, third, third], tmp_path / "whole")
    damaged = bytearray((second / "degree.bin").read_bytes())
    damaged[0] ^= 1
    (second / "degree.bin").write_bytes(damaged)
    with pytest.raises(DataError, match="degree.bin: its SHA-256 does not match the manifest"):
        merge_stores([first, second, third], tmp_path / "whole")
    with pytest.raises(DataError, match="degree.bin: its SHA-256 does not match the manifest"):
        shard_store(second, tmp_path / "t", 1)


def test_many_shards_need_few_open_files(tmp_path: Path) -> None:
    write_dataset(tmp_path / "store", motifs(30))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 60, hard))
    try:
        found = shard_store(tmp_path / "store", tmp_path / "s", 20)
        require_belonging([verify_store(folder) for folder in found], "here")
        merge_stores(found, tmp_path / "whole")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert contents(tmp_path / "whole") == contents(tmp_path / "store")


def test_commands_split_merge_and_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, split, whole = molecules(tmp_path), str(tmp_path / "s"), tmp_path / "whole"
    text, _ = run(capsys, "store", "shard", str(folder), "--shards", "2", "--out", split, "--json")
    assert [Path(name).name for name in json.loads(text)["shards"]] == ["shard-00000", "shard-00001"]
    text, _ = run(capsys, "store", "merge", split, "--out", str(whole))
    assert text == f"{whole}: 5 graphs, 315 nodes, 622 directed edges, from 2 stores\n"
    assert contents(whole) == contents(folder)
    text, _ = run(capsys, "store", "verify", split)
    assert [line[:4] for line in text.splitlines()] == ["ok  ", "ok  "]
    (tmp_path / "s" / "shard-00001" / "x.bin").write_bytes(b"")
    text, told = run(capsys, "store", "verify", split, code=2)
    assert text.splitlines()[1].startswith("NOT ")
    assert "x.bin: 0 bytes instead of" in text
    assert told == "nmrgcl: 1 of 2 stores are damaged; see above\n"
    (tmp_path / "empty").mkdir()
    _, told = run(capsys, "store", "verify", str(tmp_path / "empty"), code=2)
    assert "is neither a store nor a folder of stores" in told
