"""GraphMAE: the error by its definition, what is hidden and from whom, and what is refused."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nmrgcl.contrast import scaled_cosine_error
from nmrgcl.encode import Foreign
from nmrgcl.encode.gat import GATLayer
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Pretraining, build_pretraining
from nmrgcl.methods.graphmae import GINDecoder
from nmrgcl.run.recipe import recipe
from nmrgcl.train import Progress
from tests.examples import random_graphs, sparse_x, with_edge_labels
from tests.methods.members import DATA, GRAPHS, NETWORK, settings_of

LEVELS: list[Level] = ["graph", "node"]


def graphmae(*assignments: str, level: Level = "graph") -> Pretraining:
    settings = settings_of("graphmae", "encoder.dropout=0", *assignments, level=level)
    return build_pretraining(settings, DATA[level].num_features).train()


def loss_of(method: Pretraining, graphs: Graphs, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    (loss,) = method.losses(graphs, Progress())
    return loss


def hidden_nodes(method: Pretraining, graphs: Graphs, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    hidden: Tensor = torch.rand(graphs.num_nodes) < method.options.mask
    assert 0 < int(hidden.sum()) < graphs.num_nodes
    return hidden


class Watched:
    """Notes what the encoder and the decoder of a method are given."""

    def __init__(self, method: Pretraining) -> None:
        self.given: list[Graphs] = []
        self.rows: list[Tensor] = []
        method.encoder.register_forward_pre_hook(lambda _, inputs: self.given.append(inputs[0]))
        method.get_submodule("decoder").register_forward_pre_hook(lambda _, inputs: self.rows.append(inputs[0]))


def test_the_error_of_two_rows_by_hand() -> None:
    """Cosines 0.6 and 0 with their targets: (0.4² + 1²) / 2; the third row is not chosen."""
    found = torch.tensor([[3.0, 4.0], [0.0, 2.0], [1.0, 1.0]])
    x = torch.tensor([[5.0, 0.0], [1.0, 0.0], [-1.0, -1.0]])
    chosen = torch.tensor([True, True, False])
    torch.testing.assert_close(scaled_cosine_error(found, x, chosen, alpha=2.0), torch.tensor((0.16 + 1) / 2))
    assert float(scaled_cosine_error(found, x, ~chosen, alpha=3.0)) == pytest.approx(8)


def test_a_row_that_is_right_has_a_finite_gradient_and_none_chosen_is_no_error() -> None:
    found = torch.randn(1000, 3, requires_grad=True)  # many, so that rounding brings some cosines above one
    every = torch.ones(1000, dtype=torch.bool)
    scaled_cosine_error(found, found.detach() * 3, every, alpha=1.5).backward()
    assert found.grad is not None
    assert bool(found.grad.isfinite().all())
    assert float(scaled_cosine_error(found.detach(), found.detach(), ~every)) == 0


@pytest.mark.parametrize("level", LEVELS)
def test_only_hidden_nodes_are_targets(level: Level) -> None:
    """What the decoder makes of the others may be anything."""
    method, graphs = graphmae("mask=0.4", level=level), DATA[level]
    hidden, x = hidden_nodes(method, graphs), graphs.dense_x()
    found = {"rows": torch.randn(graphs.num_nodes, graphs.num_features)}
    method.get_submodule("decoder").register_forward_hook(lambda *_: found["rows"])
    loss = loss_of(method, graphs)
    alpha = method.options.exponent
    torch.testing.assert_close(loss, scaled_cosine_error(found["rows"][hidden], x[hidden], hidden[hidden], alpha=alpha))
    found["rows"] = torch.where(hidden[:, None], found["rows"], -found["rows"])
    assert torch.equal(loss_of(method, graphs), loss)
    found["rows"] = -found["rows"]
    assert not torch.equal(loss_of(method, graphs), loss)


@pytest.mark.parametrize("level", LEVELS)
def test_hidden_features_reach_neither_encoder_nor_decoder(level: Level) -> None:
    method, graphs = graphmae("replace=0", level=level), DATA[level]
    with torch.no_grad():
        method.get_parameter("token").copy_(torch.arange(graphs.num_features))
    watched, hidden, x = Watched(method), hidden_nodes(method, graphs), graphs.dense_x()
    loss_of(method, graphs)
    shown = watched.given[0].x
    assert bool((shown[hidden] == method.get_parameter("token")).all())
    assert torch.equal(shown[~hidden], x[~hidden])
    assert bool((watched.rows[0][hidden] == 0).all())
    assert bool((watched.rows[0][~hidden] != 0).any(1).all())


def test_as_many_hidden_nodes_as_asked_show_features_of_other_nodes() -> None:
    graphs = random_graphs([20] * 100, categorical=True)
    method = build_pretraining(settings_of("graphmae", "mask=0.5", "replace=0.3"), graphs.num_features).train()
    with torch.no_grad():
        method.get_parameter("token").fill_(7)
    watched, hidden = Watched(method), hidden_nodes(method, graphs)
    loss_of(method, graphs)
    token = (watched.given[0].x == 7).all(1)
    assert not bool(token[~hidden].any())
    assert float(hidden.float().mean()) == pytest.approx(0.5, abs=0.03)
    assert float((hidden & ~token).sum() / hidden.sum()) == pytest.approx(0.3, abs=0.05)
    assert bool((watched.given[0].x[~token].sum(1) == 1).all())  # one label, some node's


def test_a_batch_of_few_nodes_trains_whatever_share_is_replaced() -> None:
    """The released code indexes with a share that it has rounded to zero."""
    method = graphmae("replace=0.05", "mask=0.1")
    for seed in range(20):
        assert bool(loss_of(method, GRAPHS.take(torch.tensor([1, 3])), seed).isfinite())


def test_padding_is_neither_hidden_nor_shown() -> None:
    """A step on a GPU is recorded for batches of one size: the loss must not depend on the room around them."""
    method = graphmae("replace=0.9", "mask=0.9")
    batch = GRAPHS.take(torch.arange(8))
    padded = GRAPHS.take_padded(torch.arange(8), GRAPHS.room_for(8))
    assert padded.num_nodes > batch.num_nodes
    torch.manual_seed(0)
    draw = torch.rand(padded.num_nodes), torch.rand(padded.num_nodes)
    method.eval()  # statistics of a batch are summed in another order
    losses = []
    for graphs in (batch, padded):
        numbers = iter([part[: graphs.num_nodes] for part in draw])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "rand", lambda *_, numbers=numbers, **__: next(numbers))
            patch.setattr(torch, "rand_like", lambda *_, numbers=numbers, **__: next(numbers))
            (loss,) = method.losses(graphs, Progress())
        losses.append(loss)
    torch.testing.assert_close(losses[0], losses[1])


def test_sparse_features_are_features_like_others() -> None:
    method = graphmae(level="node")
    torch.testing.assert_close(loss_of(method, sparse_x(NETWORK)), loss_of(method, NETWORK))


def test_several_labels_of_a_node_are_reconstructed() -> None:
    """The target is the sum of their one-hot forms; for molecules see ``test_molecules.py``."""
    graphs = with_edge_labels(random_graphs([6, 5, 7], categorical=True, density=0.4), (4, 2))
    graphs = replace(graphs, x=torch.cat([graphs.x, graphs.x.flip(0)], 1))
    settings = settings_of("graphmae", "encoder.name=molecule")
    method = build_pretraining(settings, graphs.num_features, (4, 2)).train()
    loss_of(method, graphs).backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in method.parameters())
    assert float(graphs.dense_x().sum()) == 2 * graphs.num_nodes


def test_the_decoder_is_of_the_encoders_kind() -> None:
    assert isinstance(graphmae().get_submodule("decoder"), GINDecoder)
    assert isinstance(graphmae(level="node").get_submodule("decoder"), GATLayer)


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("mask=0", "mask = 0 must be above 0"),
        ("mask=1", "mask = 1 must be below 1"),
        ("replace=1", "replace = 1 must be below 1"),
        ("options.exponent=0.5", "exponent = 0.5 must be at least 1"),
    ],
)
def test_shares_that_leave_nothing_are_refused(assignment: str, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        recipe("graphmae", assignments=[assignment])


def test_features_that_say_nothing_are_refused() -> None:
    constant = Graphs.build(GRAPHS.edge_index, GRAPHS.node_ptr)
    method = build_pretraining(settings_of("graphmae"), 1)
    with pytest.raises(DataError, match="but all nodes have the same ones; use features=degree"):
        list(method.losses(constant, Progress()))


def test_an_encoder_that_pools_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pooled(Foreign):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.units, self.pooled = 8, True

    monkeypatch.setattr("nmrgcl.methods.build_encoder", lambda *_, **__: Pooled())
    with pytest.raises(SettingError, match="graphmae needs an encoder that returns a row per node, not one per graph"):
        build_pretraining(settings_of("graphmae"), 4)
