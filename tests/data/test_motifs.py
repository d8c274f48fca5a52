import networkx
import numpy as np
import pytest
import torch

from nmrgcl.data.conversions import to_networkx
from nmrgcl.data.motifs import motifs
from nmrgcl.errors import SettingError


def test_a_seed_decides_everything() -> None:
    one, same, other = motifs(40, seed=3), motifs(40, seed=3), motifs(40, seed=4)
    assert torch.equal(one.graphs.edge_index, same.graphs.edge_index)
    assert torch.equal(one.graphs.y, same.graphs.y)  # type: ignore[arg-type]
    assert np.array_equal(one.node_labels, same.node_labels)  # type: ignore[arg-type]
    assert not torch.equal(one.graphs.node_ptr, other.graphs.node_ptr)


def test_every_graph_is_connected_and_holds_its_motif() -> None:
    data = motifs(60)
    assert data.graphs.y is not None
    assert torch.bincount(data.graphs.y).tolist() == [20, 20, 20]
    for graph, code in zip(to_networkx(data.graphs), data.graphs.y.tolist(), strict=True):
        assert networkx.is_connected(graph)
        assert 16 <= len(graph) <= 30
        cliques = max(len(c) for c in networkx.find_cliques(graph))
        if code == 0:
            assert any(len(cycle) == 6 for cycle in networkx.simple_cycles(graph))
        assert (cliques >= 4) == (code == 1)
        if code == 2:
            assert max(dict(graph.degree).values()) >= 6


def test_sizes_and_labels_do_not_tell_the_class() -> None:
    data = motifs(3000)
    assert data.graphs.y is not None
    assert data.node_labels is not None
    sizes = data.graphs.node_ptr.diff().double()
    of_nodes = data.graphs.y[data.graphs.batch].numpy()
    for c in range(3):
        assert abs(float(sizes[data.graphs.y == c].mean()) - 23) < 0.6
        shares = np.bincount(data.node_labels[of_nodes == c, 0]) / (of_nodes == c).sum()
        assert np.abs(shares - 1 / 3).max() < 0.02


def test_fewer_graphs_than_classes_are_refused() -> None:
    with pytest.raises(SettingError, match="2 graphs are too few; at least 3"):
        motifs(2)
