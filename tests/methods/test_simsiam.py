"""SimSiam's own claim: it is the stopped gradient that keeps embeddings from collapsing."""

import pytest
import torch
from torch.nn.functional import normalize

from nmrgcl.errors import SettingError
from nmrgcl.methods import build_pretraining
from nmrgcl.run.recipe import recipe
from nmrgcl.train import Progress, pretrain
from tests.methods.members import GRAPHS, settings_of
from tests.methods.planted import planted_graphs

SMALL = ["encoder.layers=2", "encoder.units=16", "epochs=80", "train.lr=0.01", "batch_size=60"]


def spread(*assignments: str) -> tuple[float, float]:
    """Last loss, and √D times the mean deviation of unit projections: 1 if they point everywhere, 0 if one way."""
    graphs, _ = planted_graphs()
    settings = recipe("simsiam", preset="graphcl", assignments=[*SMALL, *assignments])
    method = build_pretraining(settings, graphs.num_features)
    losses = [epoch.loss for epoch in pretrain(method, graphs, settings.train, seed=0)]
    with torch.no_grad():
        z = normalize(method.get_submodule("head")(method.train().embed(graphs)))
    return losses[-1], float(z.std(0).mean()) * z.shape[1] ** 0.5


def test_embeddings_collapse_without_the_stopped_gradient_and_do_not_with_it() -> None:
    loss, kept = spread()
    collapsed_loss, collapsed = spread("stop_gradient=false")
    assert kept > 0.7
    assert collapsed < 0.1
    assert collapsed_loss < 0.01 < loss


def test_the_target_has_no_gradient() -> None:
    """The last layers of the head's targets: with a gradient through them, that of the loss is another one."""
    gradients = []
    for stop in ("true", "false"):
        method = build_pretraining(settings_of("simsiam", f"stop_gradient={stop}"), GRAPHS.num_features).train()
        torch.manual_seed(0)
        for loss in method.losses(GRAPHS, Progress()):
            loss.backward()
        gradients.append(method.get_parameter("head.6.weight").grad)
    assert gradients[0] is not None
    assert gradients[1] is not None
    assert not torch.allclose(gradients[0], gradients[1])


def test_a_batch_of_one_graph_is_refused_in_one_line() -> None:
    method = build_pretraining(settings_of("simsiam"), GRAPHS.num_features).train()
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        list(method.losses(GRAPHS.take(torch.tensor([0])), Progress()))
