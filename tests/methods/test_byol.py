"""BYOL's teacher: what it keeps of itself, and what it leaves alone."""

import math

import pytest
import torch
from torch import Tensor

from nmrgcl.encode.momentum import Momentum
from nmrgcl.errors import SettingError
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.byol import BYOL
from nmrgcl.train import Progress
from tests.methods.members import GRAPHS, settings_of


@pytest.fixture
def method() -> BYOL:
    built = build_pretraining(settings_of("byol"), GRAPHS.num_features)
    assert isinstance(built, BYOL)
    return built.train()


def statistics(method: BYOL) -> dict[str, Tensor]:
    """Running statistics of the student's batch norms."""
    parts = {"encoder": method.encoder, "head": method.head}
    return {f"{name}.{key}": b.clone() for name, part in parts.items() for key, b in part.named_buffers()}


def test_the_momentum_is_0_99_at_first_half_way_between_in_the_middle_and_1_at_the_end() -> None:
    momentum = Momentum(0.99)
    momentum.count(0, 4)
    found = [float(momentum()) for _ in range(5)]
    half = 0.01 * (1 + math.sqrt(0.5)) / 2
    assert found == pytest.approx([0.99, 1 - half, 0.995, 1 - (0.01 - half), 1.0], abs=1e-7)


def test_the_teacher_follows_by_the_stated_momentum_after_each_step(method: BYOL) -> None:
    """Slowly: τ θ' + (1 − τ) θ with τ of steps 6, 7 and 8 of 10, where each step adds 1 to every parameter."""
    weights = {"teachers.encoder.layers__0__bias": "encoder.layers.0.bias", "teachers.head.0__weight": "head.0.weight"}
    expected = {teacher: method.state_dict()[teacher].clone() for teacher in weights}
    method.begin_epoch(Progress(epoch=3, step=6, epochs=5, steps=10))
    for step in (6, 7, 8):
        for _ in method.losses(GRAPHS, Progress()):
            with torch.no_grad():
                for parameter in method.parameters():
                    parameter.add_(1.0)
        tau = 1 - 0.01 * (1 + math.cos(math.pi * step / 10)) / 2
        for teacher, student in weights.items():
            expected[teacher] = tau * expected[teacher] + (1 - tau) * method.state_dict()[student]
    for teacher, value in expected.items():
        torch.testing.assert_close(method.state_dict()[teacher], value)


def test_the_teacher_leaves_the_students_statistics_alone_and_has_its_own(method: BYOL) -> None:
    encoder = method.teachers["encoder"]
    student, taught = statistics(method), encoder.state_dict()["layers__0__norm__running_mean"].clone()
    z = method.taught(method.teachers, GRAPHS)
    assert not z.requires_grad
    after = statistics(method)
    assert all(torch.equal(after[name], value) for name, value in student.items())
    assert not torch.equal(encoder.state_dict()["layers__0__norm__running_mean"], taught)


def test_the_teacher_starts_as_the_student(method: BYOL) -> None:
    taught = method.taught(method.teachers, GRAPHS)
    torch.testing.assert_close(taught, method.embed(GRAPHS).detach())


def test_a_batch_of_one_graph_is_refused_in_one_line(method: BYOL) -> None:
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        list(method.losses(GRAPHS.take(torch.tensor([0])), Progress()))
