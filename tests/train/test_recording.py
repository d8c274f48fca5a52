"""Tests of recorded steps that need no GPU; the others are in test_device.py."""

from typing import Any

import pytest
import torch

from nmrgcl.train.recording import captured_by_size, recorded_if_possible


def test_a_step_that_cannot_be_recorded_is_reported_and_left_to_ordinary_steps() -> None:
    def waits() -> None:
        raise RuntimeError("operation not permitted when stream is capturing\nand a trace")

    with pytest.warns(UserWarning, match=r"not recorded \(operation not permitted when stream is capturing\); train"):
        assert recorded_if_possible(waits) is None
    assert recorded_if_possible(lambda: "a recording") == "a recording"


def test_a_step_that_does_not_fit_into_memory_is_no_step_to_take_otherwise() -> None:
    def fills() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        recorded_if_possible(fills)


def test_the_largest_batch_is_recorded_first_and_lends_its_memory() -> None:
    made: list[Any] = []

    def make(size: int, beside: Any) -> Any:
        made.append((size, beside))
        return f"step of {size}"

    found = captured_by_size({3, 16, 7}, make)
    assert made == [(16, None), (7, "step of 16"), (3, "step of 16")]
    assert found[3] == "step of 3"
