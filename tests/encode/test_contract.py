"""What every encoder promises; a new entry of ``ENCODERS`` is picked up by itself."""

from dataclasses import replace

import pytest
import torch

from nmrgcl.augment import AddEdges, Compose, DropEdges, DropNodes
from nmrgcl.encode import ENCODERS, EdgeShape, Encoder, build_encoder
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from tests.examples import random_graphs, sparse_x, with_edge_attributes, with_edge_labels

VARIANTS: dict[str, dict[str, object]] = {
    "gcn, batch norm": {"norm": "batch"},
    "gin, last layer": {"jk": "last"},
    "molecule, all layers": {"jk": "cat"},
}
EDGES: dict[str, EdgeShape] = {"gin, labels": (3, 2), "gin, attributes": 3, "molecule, labels": (3,)}


def graphs_for(name: str, sizes: list[int]) -> Graphs:
    graphs = random_graphs(sizes, density=0.4, categorical=True)
    if name in EDGES:
        shape = EDGES[name]
        return with_edge_attributes(graphs, shape) if isinstance(shape, int) else with_edge_labels(graphs, shape)
    if name.startswith("molecule"):
        return replace(graphs, edge_attr=torch.ones(graphs.num_edges, 2, dtype=torch.long))
    return graphs


def fresh(name: str, **options: object) -> Encoder:
    torch.manual_seed(0)
    options |= VARIANTS.get(name, {})
    if name in EDGES:
        options["edges"] = EDGES[name]
    return build_encoder(name.split(",")[0], 4, layers=2, units=16, **options)  # type: ignore[arg-type]


@pytest.fixture(params=[*ENCODERS, *VARIANTS, *EDGES])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_row_for_each_node_of_the_width_it_states(name: str) -> None:
    graphs, encoder = graphs_for(name, [6, 1, 4]), fresh(name)
    assert encoder(graphs).shape == (11, encoder.units)


def test_a_masked_graph_gives_what_the_compacted_graph_gives(name: str) -> None:
    torch.manual_seed(1)
    view = Compose(AddEdges(0.3), DropNodes(0.3), DropEdges(0.3))(graphs_for(name, [6, 1, 9, 4]))
    assert view.node_keep is not None
    encoder = fresh(name).double().train()
    results, grads = [], []
    for seen in (view, view.compact()):
        encoder.zero_grad()
        z = encoder(seen)[view.node_keep] if seen is view else encoder(seen)
        (z * torch.arange(z.numel()).reshape(z.shape).sin()).sum().backward()
        results.append(z)
        grads.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
    torch.testing.assert_close(*results, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(*grads, atol=1e-10, rtol=1e-10)


def test_an_embedding_depends_neither_on_other_graphs_nor_on_the_order_of_nodes(name: str) -> None:
    graphs, encoder = graphs_for(name, [7, 5]), fresh(name).double().eval()
    z = encoder(graphs)
    torch.testing.assert_close(encoder(graphs.take(torch.tensor([1]))), z[7:], atol=1e-12, rtol=1e-12)
    order = torch.cat([torch.randperm(7), torch.randperm(5) + 7])
    renamed = Graphs.build(
        torch.argsort(order)[graphs.edge_index],
        graphs.node_ptr,
        x=graphs.x[order],
        num_features=4,
        edge_attr=graphs.edge_attr,
    )
    torch.testing.assert_close(encoder(renamed), z[order], atol=1e-12, rtol=1e-12)


def test_features_count_the_same_however_they_are_stored(name: str) -> None:
    graphs, encoder = graphs_for(name, [6, 1, 4]), fresh(name)
    dense = replace(graphs, x=graphs.dense_x())
    results, grads = [], []
    for form in (graphs, dense, sparse_x(dense)):
        encoder.zero_grad()
        z = encoder(form)
        (z * torch.arange(z.numel()).reshape(z.shape).sin()).sum().backward()
        results.append(z)
        grads.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
    for number in (1, 2):
        torch.testing.assert_close(results[number], results[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(grads[number], grads[0], atol=1e-4, rtol=1e-4)


def test_options_that_an_encoder_does_not_have_are_refused(name: str) -> None:
    if name.split(",")[0] in ("gcn", "gat"):
        assert fresh(name, activation="prelu", activate_last=False, dropout=0.5).units == 16
    else:
        with pytest.raises(SettingError, match="use encoder.name=gcn or gat"):
            fresh(name, activation="prelu", dropout=0.5)
