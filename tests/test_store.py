import contextlib
import hashlib
import json
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nmrgcl.checksums import checksum_of
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.store import open_store, write_store
from tests.examples import random_graphs, undirected

SIZES = [5, 0, 1, 7, 3, 0, 300, 2]


def assert_equal(one: Graphs, two: Graphs) -> None:
    for field in fields(Graphs):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, Tensor):
            assert left.dtype == right.dtype, field.name
            assert torch.equal(left, right), field.name
        else:
            assert left == right, field.name


def full(**changes: Any) -> Graphs:
    """Every optional field, with types that are not the usual ones."""
    graphs = random_graphs(SIZES, density=0.2)
    generator = torch.Generator().manual_seed(1)
    filled: dict[str, Any] = {
        "edge_attr": torch.randint(-3, 900, (graphs.num_edges, 2), generator=generator),
        "edge_weight": torch.rand(graphs.num_edges, generator=generator, dtype=torch.float64),
        "y": torch.randint(0, 70_000, (graphs.num_nodes, 2), generator=generator, dtype=torch.int32),
        "y_level": "node",
    }
    return replace(graphs, **(filled | changes))


def one_way() -> Graphs:
    x = torch.tensor([[0, -1], [4, 2], [-1, -1]])
    return Graphs.build(torch.tensor([[0, 0, 2, 2], [1, 1, 0, 2]]), torch.tensor([0, 3]), x=x, num_features=5)


EXAMPLES = {
    "dense": random_graphs(SIZES),
    "categorical": random_graphs(SIZES, categorical=True),
    "every field": full(),
    "labels per graph are real": full(y=torch.randn(len(SIZES), 3), y_level="graph"),
    "labels per graph are true or false": full(y=torch.arange(len(SIZES)) > 3, y_level="graph"),
    "directed, doubled, with a loop": one_way(),
    "no edges": random_graphs([2, 3], density=0),
    "no nodes": random_graphs([0, 0]),
    "no graphs": Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0])),
}


@pytest.mark.parametrize("graphs", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("verify", [False, True])
def test_what_is_written_is_read(tmp_path: Path, graphs: Graphs, verify: bool) -> None:
    write_store(tmp_path / "store", graphs)
    store = open_store(tmp_path / "store", verify=verify)
    assert len(store) == graphs.num_graphs
    assert_equal(store.graphs(), graphs)
    assert [p.name for p in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(
    "graphs", [e for e in EXAMPLES.values() if len(e)], ids=[k for k in EXAMPLES if len(EXAMPLES[k])]
)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_parts_one_after_another_make_the_same_files(tmp_path: Path, graphs: Graphs, size: int) -> None:
    write_store(tmp_path / "whole", graphs, meta={"a": 1})
    parts = (graphs.take(index) for index in (torch.arange(0), *torch.arange(len(graphs)).split(size)))
    write_store(tmp_path / "parts", parts, meta={"a": 1})
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("whole", "parts"))
    assert sorted(one) == sorted(two)
    assert [name for name in one if one[name] != two[name]] == []


def test_parts_must_be_alike(tmp_path: Path) -> None:
    graphs = full()
    for other in (full(y=None), full(edge_weight=None), replace(graphs, num_features=9), full(x=graphs.x[:, :2])):
        with pytest.raises(DataError, match="must (have|be of) the same"):
            write_store(tmp_path / "store", iter([graphs, other]))
    with pytest.raises(DataError, match="there are no graphs to write"):
        write_store(tmp_path / "store", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("graphs", [full(), full(y=None), EXAMPLES["categorical"]])
@pytest.mark.parametrize("index", [[], [6], [1, 5], [3, 0, 3, 6, 1, 7], list(range(8))])
def test_a_batch_is_the_one_that_graphs_take(tmp_path: Path, graphs: Graphs, index: list[int]) -> None:
    write_store(tmp_path / "store", graphs)
    named = torch.tensor(index, dtype=torch.long)
    assert_equal(open_store(tmp_path / "store").take(named), graphs.take(named))


@pytest.mark.parametrize("index", [[8], [0, -1]])
def test_a_graph_that_is_not_there_is_an_index_error(tmp_path: Path, index: list[int]) -> None:
    write_store(tmp_path / "store", full())
    with pytest.raises(IndexError, match="the store holds 8 graphs"):
        open_store(tmp_path / "store").take(torch.tensor(index))


def test_a_view_is_stored_as_what_it_leaves(tmp_path: Path) -> None:
    graphs = full()
    view = graphs.keep_nodes(torch.arange(graphs.num_nodes) % 3 > 0)
    write_store(tmp_path / "store", view)
    assert_equal(open_store(tmp_path / "store", verify=True).graphs(), view.compact())


def test_extra_arrays_and_notes_come_back(tmp_path: Path) -> None:
    extra = {
        "signed": np.array([[-1], [300]]),
        "big": np.array([2**63], dtype=np.uint64),
        "swapped": np.array([1, 2], dtype=">i4"),
        "strided": np.arange(10.0, dtype=np.float32)[::3],
        "empty": np.zeros((0, 4)),
        "scalar": np.array(7),
    }
    meta = {"name": "é", "classes": [-1, 1], "nested": {"nan": float("inf")}, "keys": {10: 1, 9: 2}}
    write_store(tmp_path / "store", full(), extra=extra, meta=meta)
    store = open_store(tmp_path / "store", verify=True)
    assert list(store.extra) == list(extra)
    for name, values in extra.items():
        np.testing.assert_array_equal(store.extra[name], values, strict=False)
        assert store.extra[name].shape == values.shape
        assert not (store.extra[name].size and store.extra[name].flags.writeable)
    assert [store.extra[name].dtype.str for name in ("signed", "strided", "scalar")] == ["<i2", "<f4", "|u1"]
    assert store.meta == meta | {"keys": {"10": 1, "9": 2}}


def test_a_molecule_needs_one_byte_for_each_end(tmp_path: Path) -> None:
    ring = [(i, (i + 1) % 20) for i in range(20)]
    edges = torch.cat([undirected(*ring) + 20 * g for g in range(50)], 1)
    write_store(tmp_path / "store", Graphs.build(edges, 20 * torch.arange(51)))
    sizes = {p.stem: p.stat().st_size for p in (tmp_path / "store").glob("*.bin")}
    assert sizes == {"x": 1000, "degree": 1000, "source": 2000, "pair": 2000, "node_ptr": 102, "edge_ptr": 102}


def test_a_store_is_replaced_but_another_folder_is_not(tmp_path: Path) -> None:
    write_store(tmp_path / "store", full())
    write_store(tmp_path / "store", one_way())
    assert_equal(open_store(tmp_path / "store").graphs(), one_way())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "manifest.json").write_text('{"name": "My web app"}')
    with pytest.raises(SettingError, match="mine: is not empty and contains no store; choose another place"):
        write_store(tmp_path / "mine", full())
    (tmp_path / "store" / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="'notes.txt' is not part of the store; move it away"):
        write_store(tmp_path / "store", full())
    assert (tmp_path / "store" / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_store(tmp_path / "file" / "store", full())


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ({"../a": np.zeros(1)}, "'../a' is not a valid name for an array"),
        ({"a": np.array(["x"])}, "values of type <U1 cannot be stored"),
        ({"a": np.array([None])}, "values of type object cannot be stored"),
        ({"a": np.array([1j])}, "values of type complex128 cannot be stored"),
    ],
)
def test_what_cannot_be_stored_leaves_nothing(tmp_path: Path, extra: dict[str, np.ndarray], told: str) -> None:
    with pytest.raises(DataError, match=told):
        write_store(tmp_path / "store", full(), extra=extra)
    with pytest.raises(DataError, match="convert it to float32"):
        write_store(tmp_path / "store", replace(full(), x=full().x.bfloat16()))
    with pytest.raises(DataError, match="not sorted by destination"):
        write_store(tmp_path / "store", replace(full(), edge_index=full().edge_index.flip(0)))
    with pytest.raises(TypeError):
        write_store(tmp_path / "store", full(), meta={"a": object()})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_store(tmp_path / "store", EXAMPLES["categorical"], extra={"e": np.arange(3)}, meta={"a": 1})
    return tmp_path / "store"


def rewrite(folder: Path, change: dict[str, Any]) -> None:
    """Change the manifest and make its checksum right again."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for key, value in change.items():
        *path, last = key.split(":")
        place = manifest
        for part in path:
            place = place[part]
        place[last] = value
    manifest["checksum"] = checksum_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refused(folder: Path, told: str, *, verify: bool = False) -> None:
    with pytest.raises(DataError) as caught:
        open_store(folder, verify=verify).graphs()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "manifest.json: is not JSON; the store is damaged, write or copy it again"),
        ("[" * 100_000, "not JSON"),
        ("\xff", "not JSON"),
        ("[]", "not the manifest of a store of graphs; check the path"),
        ('{"format": "other"}', "not the manifest of a store of graphs"),
        ('{"format": "nmrgcl-store", "version": 2}', "newer version (format 2, this version reads 1); upgrade nmrgcl"),
        ('{"format": "nmrgcl-store", "version": "a"}', "its checksum does not match"),
        ('{"format": "nmrgcl-store", "version": 1}', "its checksum does not match"),
    ],
)
def test_a_foreign_manifest_is_refused(folder: Path, text: str, told: str) -> None:
    (folder / "manifest.json").write_text(text, encoding="latin-1")
    refused(folder, told)


NOTHING = {"dtype": "|u1", "memory": "|u1", "shape": [0], "bytes": 0, "sha256": ""}


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": 3},
        {"graphs": "8"},
        {"y_level": "edge"},
        {"arrays": []},
        {"arrays": {}},
        {"meta": 3},
        {"arrays:x": {"dtype": "|u1"}},
        {"arrays:x:dtype": "O"},
        {"arrays:x:memory": "nonsense"},
        {"arrays:x:shape": [0, 10**30]},
        {"arrays:x:shape": [-1]},
        {"arrays:x:shape": []},
        {"arrays:source:dtype": "|i1"},
        {"arrays:degree:memory": "<f4"},
        {"arrays:../other": NOTHING},
        {"arrays:other": NOTHING},
        {"num_features": 4.0},
        {"num_features": -1},
        {"num_features": 10**20},
        {"symmetric": "false"},
        {"meta": [["a", 1]]},
        {"arrays:x:dtype": "(,)i4"},
        {"arrays:x:dtype": None},
        {"arrays:x:memory": ">i8"},
        {"arrays:x:memory": "|b1"},
        {"arrays:x:memory": "<f4"},
        {"arrays:y:memory": "<u8"},
        {"arrays:source:memory": "|u1"},
    ],
    ids=str,
)
def test_a_manifest_that_contradicts_itself_is_refused(folder: Path, change: dict[str, Any]) -> None:
    (folder / "other.bin").touch()
    (folder.parent / "other.bin").touch()
    rewrite(folder, change)
    refused(folder, "manifest.json: its entries are inconsistent")


def test_missing_cut_and_longer_files_are_refused_on_opening(folder: Path, tmp_path: Path) -> None:
    for name in (p.name for p in folder.iterdir()):
        for number, spoil in enumerate(
            [
                lambda p: p.unlink(),
                lambda p: p.write_bytes(p.read_bytes()[:-1]),
                lambda p: p.write_bytes(p.read_bytes() + b"x"),
            ]
        ):
            if name == "manifest.json" and number == 1:
                continue  # the last byte is a line break
            copy = tmp_path / f"{name}-{number}"
            shutil.copytree(folder, copy)
            spoil(copy / name)
            refused(copy, name)
    refused(tmp_path / "gone", "gone is not a store; check the path")
    refused(folder / "x.bin", "is not a store")


@pytest.mark.parametrize("name", ["x", "source", "pair", "degree", "node_ptr", "edge_ptr", "y", "extra.e"])
def test_a_changed_value_is_found_by_its_checksum(folder: Path, name: str) -> None:
    path = folder / f"{name}.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused(folder, f"{name}.bin: its SHA-256 does not match the manifest", verify=True)


@pytest.mark.parametrize("name", ["x", "source", "pair", "degree", "node_ptr", "edge_ptr"])
def test_an_index_out_of_range_is_refused_without_checksums(folder: Path, name: str) -> None:
    array = json.loads((folder / "manifest.json").read_text())["arrays"][name]
    values = np.fromfile(folder / f"{name}.bin", array["dtype"])
    values[len(values) // 2] = np.iinfo(values.dtype).max
    values.tofile(folder / f"{name}.bin")
    refused(folder, "impossible values")


def test_random_damage_is_refused_or_harmless(folder: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    names = sorted(p.name for p in folder.iterdir())
    names += ["manifest.json"] * len(names)
    copy = tmp_path / "copy"
    for _ in range(400):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        path = copy / names[random.integers(len(names))]
        content = bytearray(path.read_bytes())
        if random.random() < 0.3:
            del content[random.integers(len(content)) :]
        else:
            for _ in range(random.integers(1, 4)):
                content[random.integers(len(content))] ^= 1 << int(random.integers(8))
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            open_store(copy).graphs()
        with contextlib.suppress(DataError):
            store = open_store(copy, verify=True)
            assert_equal(store.graphs(), EXAMPLES["categorical"])
            assert store.meta == {"a": 1}


def replaced(folder: Path, name: str, values: np.ndarray) -> None:
    """Another array under the same name, with checksums to match."""
    values.tofile(folder / f"{name}.bin")
    digest = hashlib.sha256(values.tobytes()).hexdigest()
    entry = {"dtype": values.dtype.str, "bytes": values.nbytes, "sha256": digest}
    rewrite(folder, {f"arrays:{name}:{key}": value for key, value in entry.items()})


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    """A triangle and, alone in its graph, an edge; its arrays are known by heart."""
    edges = undirected((0, 1), (0, 2), (1, 2), (3, 4))
    write_store(tmp_path / "w", Graphs.build(edges, torch.tensor([0, 3, 5]), edge_weight=torch.ones(8)))
    held = {p.stem: np.fromfile(p, np.uint8).tolist() for p in (tmp_path / "w").glob("*.bin") if "weight" not in p.stem}
    assert held["source"] == [1, 2, 0, 2, 0, 1, 1, 0]
    assert held["pair"] == [0, 1, 0, 3, 1, 3, 0, 0]
    assert held["degree"] == [2, 2, 2, 1, 1]
    return tmp_path / "w"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("source", [2, 1, 0, 2, 0, 1, 1, 0]),
        ("pair", [0, 1, 1, 3, 0, 3, 0, 0]),
        ("pair", [2, 1, 2, 3, 1, 3, 0, 0]),
        ("pair", [0, 1, 2, 3, 1, 3, 0, 0]),
        ("edge_weight", [1, 1, 1, 1, 1, 1, 1, -1]),
        ("edge_weight", [1, 1, 1, 1, np.inf, 1, 1, 1]),
        ("edge_weight", [1, 1, 1, 1, np.nan, 1, 1, 1]),
    ],
)
def test_edges_that_contradict_each_other_are_found_by_verifying(
    weighted: Path, name: str, values: list[float]
) -> None:
    open_store(weighted, verify=True)
    replaced(weighted, name, np.array(values, np.float32 if name == "edge_weight" else np.uint8))
    refused(weighted, f"{name}.bin: impossible values", verify=True)


@pytest.mark.parametrize("name", ["node_ptr", "edge_ptr", "degree"])
def test_numbers_beyond_63_bits_are_refused_for_any_batch(weighted: Path, name: str) -> None:
    values = np.fromfile(weighted / f"{name}.bin", np.uint8).astype(np.uint64)
    values[1] = 2**64 - 2
    replaced(weighted, name, values)
    for graph in (0, 1):
        with pytest.raises(DataError, match="impossible values|are inconsistent"):
            open_store(weighted).take(torch.tensor([graph]))


def test_features_must_be_as_many_as_the_manifest_says(tmp_path: Path) -> None:
    write_store(tmp_path / "store", full())
    rewrite(tmp_path / "store", {"num_features": 5})
    refused(tmp_path / "store", "its entries are inconsistent")


def test_edges_that_weigh_nothing_are_not_stored(tmp_path: Path) -> None:
    for weight in (0.0, -1.0, float("nan")):
        with pytest.raises(DataError, match="an edge weight is not positive; leave such edges out"):
            write_store(tmp_path / "store", full(edge_weight=torch.full((full().num_edges,), weight)))
    assert list(tmp_path.iterdir()) == []
