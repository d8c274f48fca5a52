"""What is learnt and judged by: labels that are missing have no part in it."""

from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest
import torch
from torch import Tensor

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError
from nmrgcl.evaluate.goals import (
    BINARY,
    CLASSES,
    GOALS,
    NUMBERS,
    Goal,
    masked_cross_entropy,
    masked_squared_error,
    names_by_kind,
)

NAN = float("nan")


SPLIT = Split(np.arange(2), np.arange(2, 4), np.arange(4, 6))
GOOD = np.array([[0.0, NAN], [1, NAN], [0, NAN], [1, NAN], [0, 1], [1, 1]])


def test_losses_by_hand() -> None:
    outputs = torch.tensor([[0.0, 5.0], [2.0, -1.0]])
    labels = torch.tensor([[1.0, NAN], [0.0, NAN]])
    assert masked_cross_entropy(outputs, labels).item() == pytest.approx((log(2) + log(1 + exp(2))) / 2)
    assert masked_squared_error(outputs, labels).item() == (1 + 4) / 2
    assert masked_squared_error(outputs, torch.tensor([[1.0, 2], [0, NAN]])).item() == pytest.approx((1 + 9 + 4) / 3)


@pytest.mark.parametrize("loss", [masked_cross_entropy, masked_squared_error])
def test_a_missing_label_has_no_gradient(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    outputs = torch.randn(4, 3, requires_grad=True)
    labels = torch.randint(0, 2, (4, 3)).float()
    labels[1] = labels[2, 0] = NAN
    loss(outputs, labels).backward()
    assert outputs.grad is not None
    assert torch.equal(outputs.grad == 0, labels.isnan())
    outputs.grad.zero_()
    nothing = loss(outputs, torch.full((4, 3), NAN))
    nothing.backward()
    assert nothing.item() == 0
    assert not outputs.grad.any()


def test_merits_are_means_over_tasks_and_the_larger_the_better() -> None:
    labels = torch.tensor([[0, 0, 1], [1, 1, 1], [0, 1, NAN]])
    outputs = torch.tensor([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]])
    assert BINARY.merit(outputs, labels).item() == (0.5 + 1) / 2  # the third task has one class
    wrong = torch.tensor([[2.0, 3], [4, 5]])
    assert NUMBERS.merit(wrong, torch.tensor([[0.0, 3], [2, NAN]])).item() == -(2 + 0) / 2
    three = torch.tensor([[1.0, 2], [2, 1], [0, 1]])
    assert CLASSES.merit(three, torch.tensor([1, 0, 0])).item() == pytest.approx(2 / 3)
    assert {name: list(goal.merits) for name, goal in GOALS.items()} == {
        "classes": ["accuracy"],
        "binary": ["roc_auc", "pr_auc"],
        "numbers": ["rmse", "mae"],
    }


@pytest.mark.parametrize("goal", [BINARY, NUMBERS])
def test_outputs_that_are_not_finite_have_the_least_merit(goal: Goal) -> None:
    outputs, labels = torch.tensor([[0.0], [NAN]]), torch.tensor([[0.0], [1.0]])
    assert goal.merit(outputs, labels).item() == -torch.inf


def changed(*values: tuple[int, int, float]) -> np.ndarray:
    y = GOOD.copy()
    for row, task, value in values:
        y[row, task] = value
    return y


@pytest.mark.parametrize(
    ("goal", "y", "told"),
    [
        (CLASSES, np.array([1, 1, 0, 0, 0, 0]), "all training labels are of one class"),
        (BINARY, np.zeros(6), r"labels of shape \[6\]: pass one row per graph"),
        (BINARY, changed((4, 0, -1)), "label -1: labels of binary tasks are 0, 1, or NaN"),
        (BINARY, changed((0, 0, 1)), "no task has both classes in the training data"),
        (BINARY, changed((3, 0, NAN)), "no task has both classes in the validation data"),
        (BINARY, changed((4, 0, 1)), "no task has both classes in the test data"),
        (NUMBERS, changed((0, 0, np.inf)), "some labels are infinite"),
        (NUMBERS, changed((2, 0, NAN), (3, 0, NAN)), "all labels of the validation data are missing"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_in_one_line(goal: Goal, y: np.ndarray, told: str) -> None:
    with pytest.raises(DataError, match=told) as refused:
        goal.require(y, SPLIT)
    assert "\n" not in str(refused.value)


def test_labels_that_can_be_used_are_not_refused() -> None:
    for goal in (BINARY, NUMBERS):
        goal.require(GOOD, SPLIT)
    CLASSES.require(np.array([0, 1, 1, 1, 1, 1]), SPLIT)


def test_columns_of_zeros_and_ones_are_told_from_others() -> None:
    labels = np.array([[0.0, 0.5, NAN, 1], [1, 2, NAN, 2], [NAN, 0, NAN, 3]])
    assert names_by_kind(labels, "abcd", "a.csv") == (["a", "c"], ["b", "d"])
    fraction = np.array([[0.5], [1.0]])
    assert names_by_kind(fraction, "a", "a.csv") == ([], ["a"])


@pytest.mark.parametrize("values", [(-1, 1), (1, 2), (0, 100)])
def test_two_other_whole_numbers_may_mean_yes_and_no(values: tuple[int, int]) -> None:
    low, high = values
    with pytest.raises(DataError) as raised:
        names_by_kind(np.array([[low], [high], [NAN], [low]]), ["active"], "a.csv")
    told = f"a.csv: column 'active' holds {low} and {high}"
    assert str(raised.value) == f"{told}: write 0 and 1 for a yes-or-no task, or pass --task numbers"
