"""BGRL: what is predicted, how the teacher follows, and what is refused."""

import math

import pytest
import torch

from nmrgcl.contrast import bootstrap_loss
from nmrgcl.errors import SettingError
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.methods.bgrl import BGRL
from nmrgcl.run.recipe import recipe
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, pretrain
from tests.methods.members import NETWORK, settings_of


def bgrl(*assignments: str) -> BGRL:
    method: Pretraining = build_pretraining(settings_of("bgrl", *assignments, level="node"), NETWORK.num_features)
    assert isinstance(method, BGRL)
    return method.train()


def test_each_view_predicts_the_teachers_other_view() -> None:
    """By hand: 2 − cos(p1, t2) − cos(p2, t1), where the teacher has not followed the encoder."""
    method = bgrl()
    for parameter in method.encoder.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))  # the teacher stays where it is
    torch.manual_seed(1)
    (loss,) = method.losses(NETWORK, Progress())
    torch.manual_seed(1)
    first, second = (view(NETWORK) for view in method.views)
    p1, p2 = (method.predictor(method.encoder(view)) for view in (first, second))
    taught = bgrl().encoder  # its weights are those that the teacher was copied from
    t1, t2 = taught(first).detach(), taught(second).detach()
    cosine = torch.nn.functional.cosine_similarity
    torch.testing.assert_close(loss, (2 - cosine(p1, t2) - cosine(p2, t1)).mean())
    assert not torch.allclose(taught(first), method.encoder(first))


def test_the_target_has_no_gradient() -> None:
    """At the start the teacher is the encoder; a gradient through the targets would be another one."""
    method = bgrl()
    torch.manual_seed(2)
    seen = [view(NETWORK) for view in method.views]
    method.zero_grad()
    p = [method.predictor(method.encoder(view)) for view in seen]
    t = [method.encoder(view) for view in seen]
    bootstrap_loss(*p, *t).backward()
    through_targets = method.encoder.get_parameter("layers.0.bias").grad
    method.zero_grad()
    torch.manual_seed(2)
    (loss,) = method.losses(NETWORK, Progress())
    loss.backward()
    ours = method.encoder.get_parameter("layers.0.bias").grad
    assert through_targets is not None
    assert ours is not None
    assert not torch.allclose(ours, through_targets)


@pytest.mark.parametrize("epochs", [1, 4])
def test_the_momentum_rises_from_its_start_to_one(epochs: int) -> None:
    method = bgrl("momentum=0.9")
    method.momentum.register_forward_hook(lambda _, __, value: found.append(float(value)))
    found: list[float] = []
    list(pretrain(method, NETWORK, TrainSettings(epochs=epochs)))
    expected = [1 - 0.1 * (1 + math.cos(math.pi * k / epochs)) / 2 for k in range(epochs)]
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_teacher_follows_after_the_step() -> None:
    method = bgrl("momentum=0.75")
    bias = method.encoder.get_parameter("layers.0.bias")
    start = bias.detach().clone()
    for _ in method.losses(NETWORK, Progress()):
        with torch.no_grad():
            bias.add_(1.0)
    torch.testing.assert_close(method.teacher.state_dict()["layers__0__bias"], start + 0.25)


def test_the_published_optimiser_is_in_the_preset() -> None:
    train = recipe("bgrl", level="node", dataset="Amazon-Photo").train
    assert (train.schedule, train.warmup * train.epochs, train.weight_decay, train.lr) == ("cosine", 1000, 1e-5, 1e-4)


def test_graphs_are_refused() -> None:
    with pytest.raises(SettingError, match=r"bgrl embeds nodes, not graphs; use level = node \(--preset bgrl\)"):
        build_pretraining(settings_of("bgrl", "level=graph", level="node"), 4)
