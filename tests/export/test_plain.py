"""Plain forms of the encoders equal the encoders; the family contract of tests/encode names them all."""

from dataclasses import replace

import pytest
import torch

from nmrgcl.encode import ENCODERS, Encoder, embed_graphs
from nmrgcl.export.plain import Plain, read_out
from nmrgcl.graphs import Graphs
from tests.encode.test_contract import EDGES, VARIANTS, fresh, graphs_for
from tests.examples import random_graphs


def trained(name: str, **options: object) -> Encoder:
    """An encoder whose biases and statistics are no longer those of the start."""
    encoder, generator = fresh(name, **options), torch.Generator().manual_seed(1)
    for key, value in encoder.state_dict().items():
        if value.dim() == 1 and value.is_floating_point():
            draw = torch.rand(value.shape, generator=generator)
            value.copy_(draw + 0.5 if key.endswith(("running_var", "norm.weight")) else draw - 0.5)
    return encoder.eval()


def arguments(graphs: Graphs) -> dict[str, torch.Tensor]:
    given = {"x": graphs.x, "edge_index": graphs.edge_index, "ptr": graphs.node_ptr}
    beside = {"edge_attr": graphs.edge_attr, "edge_weight": graphs.edge_weight}
    return given | {name: value for name, value in beside.items() if value is not None}


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", [*ENCODERS, *VARIANTS, *EDGES])
def test_the_plain_form_of_an_encoder_equals_it(name: str, readout: str) -> None:
    encoder = trained(name)
    graphs = graphs_for(name, [5, 1, 0, 9, 2])
    with torch.no_grad():
        plain = Plain(encoder, readout)(**arguments(graphs))
        torch.testing.assert_close(plain, embed_graphs(encoder, graphs, readout), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["gin", "gcn", "molecule", "gin, labels"])
def test_weights_of_edges_count_as_in_the_encoder(name: str) -> None:
    encoder, graphs = trained(name), graphs_for(name, [5, 9, 2])
    weight = torch.rand(graphs.num_edges, generator=torch.Generator().manual_seed(2)) + 0.1
    graphs = replace(graphs, edge_weight=weight.index_select(0, graphs.pair))
    with torch.no_grad():
        plain = Plain(encoder, None)(**arguments(graphs))
        torch.testing.assert_close(plain, encoder(graphs), rtol=1e-5, atol=1e-5)
        assert not torch.allclose(plain, Plain(encoder, None)(**arguments(replace(graphs, edge_weight=None))))


@pytest.mark.parametrize("name", ["gin", "gat", "gcn"])
def test_edges_may_come_in_any_order(name: str) -> None:
    encoder, graphs = trained(name), graphs_for(name, [6, 7])
    given = arguments(graphs)
    order = torch.randperm(graphs.num_edges, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        shuffled = Plain(encoder, "sum")(**given | {"edge_index": graphs.edge_index[:, order]})
        torch.testing.assert_close(shuffled, Plain(encoder, "sum")(**given), rtol=1e-5, atol=1e-5)


def test_a_label_of_minus_one_names_no_column() -> None:
    encoder, graphs = trained("gin"), random_graphs([4, 3], categorical=True)
    graphs = replace(graphs, x=torch.where(graphs.x == 1, -1, graphs.x))
    with torch.no_grad():
        torch.testing.assert_close(Plain(encoder, None)(**arguments(graphs)), encoder(graphs), rtol=1e-5, atol=1e-5)


def test_readouts_by_hand() -> None:
    h, ptr = torch.tensor([[1.0], [-3.0], [5.0]]), torch.tensor([0, 2, 2, 3])
    assert read_out(h, ptr, "sum").tolist() == [[-2.0], [0.0], [5.0]]
    assert read_out(h, ptr, "mean").tolist() == [[-1.0], [0.0], [5.0]]
    assert read_out(h, ptr, "max").tolist() == [[1.0], [0.0], [5.0]]
