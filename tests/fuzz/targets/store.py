"""Stores of graphs: everything in them is covered by a checksum, so a change is refused or no change at all."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.graphs import Graphs
from nmrgcl.store import MANIFEST, open_store, write_store
from tests.examples import undirected
from tests.fuzz.target import Files, Target

HOME = tempfile.TemporaryDirectory(prefix="nmrgcl-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def read(files: Files) -> Dataset:
    return dataset_of(open_store(write(files), verify=True).graphs())


def agree(files: Files, data: Dataset) -> None:
    """Only the layout of the manifest may differ from the example, not what it says."""
    same = [example for example in EXAMPLES if _meaning(example) == _meaning(files)]
    assert same, "a changed store is accepted"
    expected = dataset_of(GRAPHS[EXAMPLES.index(same[0])]())
    for field in fields(Graphs):
        if field.name == "known_sizes":  # What they would be otherwise is in the pointers.
            continue
        one, two = getattr(data.graphs, field.name), getattr(expected.graphs, field.name)
        assert torch.equal(one, two) if isinstance(one, Tensor) else one == two, field.name
    assert data.classes == expected.classes


def _meaning(files: Files) -> Files:
    if MANIFEST not in files:
        return files
    said = json.dumps(json.loads(files[MANIFEST]), sort_keys=True)
    return {**files, MANIFEST: said.encode()}


_written: dict[Path, dict[str, bytes]] = {}


def write(files: Files) -> Path:
    """A folder with these files; the one where files of the same names were last, so that only changes are written."""
    folder = Path(HOME.name, f"{os.getpid()} {' '.join(files)}")
    if folder not in _written:
        folder.mkdir()
    last = _written.setdefault(folder, {})
    for name, data in files.items():
        if last.get(name) != data:
            (folder / name).write_bytes(data)
            last[name] = data
    return folder


def _labelled() -> Graphs:
    """A path of three nodes and an edge: labels, classes and weights."""
    edges = undirected((0, 1), (1, 2), (3, 4))
    weight = torch.tensor([0.5, 1.5, 2.0]).repeat(2)
    x, y = torch.tensor([[0], [3], [3], [-1], [5]]), torch.tensor([7, 2])
    return Graphs.build(edges, torch.tensor([0, 3, 5]), x=x, num_features=6, y=y, edge_weight=weight)


def _one_way() -> Graphs:
    """One graph whose nodes have classes, some of them missing, and whose edges have features."""
    edges = torch.tensor([[0, 2, 1], [1, 1, 3]])
    x, y = torch.tensor([[0.5, 1], [2, -1], [0, 0], [1e-3, 7]]), torch.tensor([1, torch.nan, 0, 1])
    attr = torch.tensor([[300], [-2], [0]])
    return Graphs.build(edges, torch.tensor([0, 4]), x=x, y=y, y_level="node", edge_attr=attr)


def _bare() -> Graphs:
    """An empty graph among others, and nothing but structure."""
    return Graphs.build(undirected((0, 1), (1, 2), (0, 2)), torch.tensor([0, 0, 3]))


def _files(graphs: Graphs) -> Files:
    folder = Path(HOME.name) / "example"
    write_store(folder, graphs, extra={"e": np.arange(3)}, meta={"a": [1, "b"]})
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


GRAPHS: tuple[Callable[[], Graphs], ...] = (_labelled, _one_way, _bare)
EXAMPLES = tuple(_files(make()) for make in GRAPHS)
TOKENS = (
    *(
        b"\x00",
        b"\x01",
        b"\xff",
        b"\x80",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b" ",
        b"null",
        b"true",
        b"false",
        b"NaN",
    ),
    *(b'"|u1"', b'"<u8"', b'"<i8"', b'"<f4"', b'"<f8"', b'">i4"', b'"O"', b'"|b1"', b'"x"', b'"../x"', b"-1", b"(,)i4"),
)
TARGET = Target(name="store", examples=EXAMPLES, tokens=TOKENS, read=read, agree=agree)
