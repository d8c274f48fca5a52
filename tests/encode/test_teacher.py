from copy import deepcopy

import pytest
import torch
from torch import nn

from nmrgcl.encode import GIN
from nmrgcl.encode.teacher import Teacher
from tests.examples import random_graphs

FIRST, SECOND = (random_graphs([6, 9, 4], density=0.4, seed=seed) for seed in (0, 1))


@pytest.fixture
def student() -> GIN:
    torch.manual_seed(0)
    return GIN(4, layers=2, units=8).train()


def same(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(name == key and torch.equal(a, b) for (name, a), (key, b) in pairs)


def test_a_teacher_never_changes_its_student(student: GIN) -> None:
    teacher, before = Teacher(student), deepcopy(student)
    teacher(student, FIRST)
    teacher.follow(student, 0.9)
    assert same(student, before)


def test_a_student_never_changes_its_teacher(student: GIN) -> None:
    teacher = Teacher(student)
    before = deepcopy(teacher)
    student(FIRST)
    assert same(teacher, before)


def test_a_teacher_is_a_network_of_its_own_with_the_averaged_weights(student: GIN) -> None:
    """As slow as it gets: a copy of the student, whose weights are averaged and whose batch norms see what it sees."""
    teacher, slow = Teacher(student), deepcopy(student)
    for graphs in (FIRST, SECOND, FIRST):
        with torch.no_grad():
            for parameter in student.parameters():
                parameter.add_(0.1)
            for averaged, parameter in zip(slow.parameters(), student.parameters(), strict=True):
                averaged.copy_(0.8 * averaged + 0.2 * parameter)
            student(SECOND)
            teacher.follow(student, 0.8)
            torch.testing.assert_close(teacher(student, graphs), slow(graphs), rtol=1e-4, atol=1e-5)
    held = {name.replace("__", "."): value for name, value in teacher.state_dict().items()}
    torch.testing.assert_close(held, dict(slow.state_dict()))
    with torch.no_grad():  # and so it is judged by its own statistics
        student.eval()
        torch.testing.assert_close(teacher(student, SECOND), slow.eval()(SECOND), rtol=1e-4, atol=1e-5)
