"""PyTorch Geometric's own readers as independent oracles, and the counts that the literature prints."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.files.archive import members
from nmrgcl.data.formats.npz import read_npz
from nmrgcl.data.formats.planetoid import read_planetoid

# Class and name there, file here, folder for the raw files; nodes, directed edges, features, classes; entries stored.
SETS = [
    ("Amazon", "Photo", "amazon_electronics_photo", "Photo/raw", (7650, 238162, 745, 8), 143663),
    ("Amazon", "Computers", "amazon_electronics_computers", "Computers/raw", (13752, 491722, 767, 10), 287209),
    ("Coauthor", "CS", "ms_academic_cs", "CS/raw", (18333, 163788, 6805, 15), 163788),
]


def compare(ours: Dataset, theirs: Any, counts: tuple[int, int, int, int]) -> None:
    x = ours.node_attributes
    assert isinstance(x, csr_array)
    assert (ours.graphs.num_nodes, ours.graphs.num_edges, x.shape[1], len(ours.classes)) == counts
    assert (ours.level, ours.graphs.num_graphs, ours.graphs.edge_weight) == ("node", 1, None)
    order = torch.argsort(theirs.edge_index[1] * theirs.num_nodes + theirs.edge_index[0])
    assert torch.equal(theirs.edge_index[:, order], ours.graphs.edge_index)
    assert np.array_equal(x.toarray(), theirs.x.numpy())
    assert ours.graphs.y is not None
    assert torch.equal(ours.graphs.y, theirs.y)
    assert ours.classes == tuple(range(counts[3]))


def test_pubmed(mirror: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")
    source = mirror / "planetoid" / "PubMed.tar.xz"
    raw = tmp_path / "PubMed" / "raw"
    raw.mkdir(parents=True)
    for file, stream in members(source, lambda file: file.startswith("ind.")):
        (raw / file).write_bytes(stream.read(1 << 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the pickles name modules that NumPy and SciPy have moved
        theirs = datasets.Planetoid(str(tmp_path), "PubMed")[0]
    ours = read_planetoid(source, "PubMed")
    compare(ours, theirs, (19717, 88648, 500, 3))
    split = ours.public_split
    assert split is not None
    for code, mask in enumerate((theirs.train_mask, theirs.val_mask, theirs.test_mask), 1):
        assert np.array_equal(split == code, mask.numpy())
    assert np.bincount(split).tolist() == [18157, 60, 500, 1000]
    # The files list 88,676 neighbours. The 88,651 that many papers print are what is left without repeats.
    assert (ours.listed_edges, ours.duplicate_edges, ours.self_loops, ours.one_way_edges) == (88676, 25, 3, 0)
    assert ours.graphs.num_edges + ours.self_loops == 88651


@pytest.mark.parametrize(("kind", "name", "file", "folder", "counts", "stored"), SETS, ids=[s[1] for s in SETS])
def test_amazon_and_coauthor(
    mirror: Path, tmp_path: Path, kind: str, name: str, file: str, folder: str, counts: Any, stored: int
) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")
    source = mirror / "npz" / f"{file}.npz"
    (tmp_path / folder).mkdir(parents=True)
    shutil.copy(source, tmp_path / folder)
    theirs = getattr(datasets, kind)(str(tmp_path), name)[0]
    ours = read_npz(source, name=name, binary=True)
    compare(ours, theirs, counts)
    # Papers print 287,326, 574,418 and 327,576 edges: twice the entries stored, whether both directions are or not.
    assert ours.listed_edges == stored
    assert 2 * stored == {"Photo": 287326, "Computers": 574418, "CS": 327576}[name]


def test_counts_of_words_are_kept_unless_binary_ones_are_asked_for(mirror: Path) -> None:
    x = read_npz(mirror / "npz" / "ms_academic_cs.npz").node_attributes
    assert isinstance(x, csr_array)
    assert x.max() == 105
