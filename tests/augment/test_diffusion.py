"""Diffusion against the dense formulas, and its shape on graphs with loose ends."""

import pytest
import torch
from scipy.linalg import expm

from nmrgcl.augment.diffusion import Diffusion, diffuse
from nmrgcl.encode import GCN
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import diffusion
from tests.examples import one_graph, random_graphs


def dense(graphs: Graphs) -> torch.Tensor:
    matrix = torch.zeros(graphs.num_nodes, graphs.num_nodes, dtype=torch.float64)
    weight = torch.ones(graphs.num_edges) if graphs.edge_weight is None else graphs.edge_weight
    matrix[graphs.edge_index[1], graphs.edge_index[0]] = weight.double()
    return matrix


def expected(graphs: Graphs, kind: Diffusion) -> torch.Tensor:
    a = dense(graphs) + torch.eye(graphs.num_nodes)
    d = a.sum(1)
    if kind == "ppr":
        return 0.2 * torch.linalg.inv(torch.eye(len(a)) - 0.8 * d.rsqrt()[:, None] * a * d.rsqrt())
    return torch.from_numpy(expm((5 * (a / d) - 5 * torch.eye(len(a))).numpy()))


@pytest.mark.parametrize("kind", ["ppr", "heat"])
@pytest.mark.parametrize("weighted", [False, True])
def test_everything_passed_on_is_the_dense_matrix(kind: Diffusion, weighted: bool) -> None:
    base = random_graphs([9, 4], density=0.3)
    pair_weight = torch.rand(base.num_edges) + 0.5
    graphs = Graphs.build(
        base.edge_index, base.node_ptr, x=base.x, edge_weight=pair_weight[base.pair] if weighted else None
    )
    found = diffuse(graphs, kind, keep=13, accuracy=0.0)
    torch.testing.assert_close(dense(found), expected(graphs, kind), atol=1e-6, rtol=1e-5)
    assert torch.equal(found.x, graphs.x)


@pytest.mark.parametrize("kind", ["ppr", "heat"])
@pytest.mark.parametrize("keep", [13, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_way_of_a_gpu_leads_to_the_same_entries(
    kind: Diffusion, keep: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffusion, "BLOCK", 5)
    base = random_graphs([9, 4], density=0.3)
    pair_weight = torch.rand(base.num_edges) + 0.5
    graphs = Graphs.build(
        base.edge_index, base.node_ptr, x=base.x, edge_weight=pair_weight[base.pair] if weighted else None
    )
    slow = diffuse(graphs, kind, keep=keep, accuracy=0.0)
    monkeypatch.setattr(diffusion, "on_host", lambda _: False)
    found = diffuse(graphs, kind, keep=keep)
    torch.testing.assert_close(dense(found), dense(slow), atol=5e-6, rtol=0)
    assert torch.equal(found.row_ptr, torch.searchsorted(found.edge_index[1], torch.arange(graphs.num_nodes + 1)))
    assert bool((found.edge_index[1] * 13 + found.edge_index[0]).diff().gt(0).all())


@pytest.mark.parametrize("kind", ["ppr", "heat"])
def test_the_largest_entries_stay_within_the_accuracy_asked_for(kind: Diffusion) -> None:
    graphs = random_graphs([60], density=0.1)
    exact, found = expected(graphs, kind), dense(diffuse(graphs, kind, keep=5, accuracy=1e-4))
    assert ((found > 0).sum(1) <= 5).all()
    degree = graphs.row_ptr.diff().double() + 1
    wrong = (found - exact).abs()[found > 0].max()
    assert float(wrong) < 1e-2
    # Which five stay is decided before the degrees of the two ends are set against each other.
    order = exact * degree.rsqrt()[:, None] * degree.sqrt() if kind == "ppr" else exact / degree[:, None] * degree
    least = order.topk(5, 1).values[:, -1:]
    assert bool((order[found > 0] >= (0.8 * least).expand_as(order)[found > 0]).all())


def test_a_node_without_edges_keeps_to_itself() -> None:
    found = diffuse(one_graph(3, (0, 1)))
    assert dense(found)[2].tolist() == pytest.approx([0, 0, 1], abs=1e-3)
    assert GCN(2, units=8)(found, normalise=False).shape == (3, 8)


def test_an_unknown_diffusion_is_refused() -> None:
    with pytest.raises(SettingError, match="ppr, heat"):
        diffuse(one_graph(2), "cold")  # type: ignore[arg-type]
