"""Published numbers are reached by the count that was published, and by no other."""

import numpy as np
import pytest
import torch

from nmrgcl.data.catalog import CatalogEntry, Counting, count_edges, find
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.verify import compare, require
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

# Two graphs: a path of three nodes, listed one way and once too often, and a node with a loop.
PATH = Dataset(
    "PATH",
    Graphs.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([0, 3, 4]), y=torch.tensor([0, 1])),
    (3, 5),
    self_loops=1,
    duplicate_edges=1,
    one_way_edges=2,
    source="here",
)


@pytest.mark.parametrize(
    ("counted", "total"),
    [
        ("undirected", 2),
        ("undirected, self-loops once", 3),
        ("directed", 4),
        ("directed, self-loops once", 5),
        ("stored entries, twice", 8),
    ],
)
def test_edges_are_counted_as_stated(counted: Counting, total: int) -> None:
    assert count_edges(PATH, counted) == total / 2


def test_a_number_that_differs_is_named() -> None:
    require(PATH, CatalogEntry("PATH", 2, 2.0, 1.0, 2))
    assert compare(PATH, CatalogEntry("PATH", 2, 2.0, 1.0, 2)).ok
    with pytest.raises(DataError) as caught:
        require(PATH, CatalogEntry("PATH", 2, 2.01, 1.5, 2, features=7))
    assert str(caught.value) == (
        "here: differs from the published PATH: 2 nodes per graph instead of 2.01, 1 edges per graph instead of 1.50, "
        "0 features instead of 7; replace the file, or pass its path to use it as it is"
    )


def test_collab_is_published_with_its_self_loops_counted_once() -> None:
    # As measured on the whole set, which takes too long to read here.
    entry = find("COLLAB")
    assert entry is not None
    data = Dataset("COLLAB", PATH.graphs, (1, 2, 3), self_loops=2837, sizes=(5000, 372_474, 2 * 12_286_079))
    assert compare(data, entry).ok
    assert round(count_edges(data, "undirected"), 2) == 2457.22


def test_sparse_features_are_counted_by_columns() -> None:
    from scipy.sparse import csr_array

    data = Dataset("PATH", PATH.graphs, (3, 5), node_attributes=csr_array(np.eye(4, 9, dtype=np.float32)))
    assert compare(data, CatalogEntry("PATH", 2, 2.0, 1.0, 2, features=9)).ok
