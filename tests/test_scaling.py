"""The model of many ranks (``benchmarks/scaling.py``) against what was measured, and by hand."""

import math
from dataclasses import replace

import torch

from scaling import Machine, Model, built, calibrate, measured, step_ms, traffic


def test_it_reproduces_the_measured_points_within_15_percent() -> None:
    found = calibrate()
    assert {row["ranks"] for row in found["points"]} == {1, 2, 3, 4}
    assert found["worst"] < 0.15
    assert found["worst_of_4_from_1_to_3"] < 0.15


def test_its_bytes_are_those_that_ranks_have_counted() -> None:
    model = built(torch.device("cpu"))
    points = [point for point in measured() if point["ranks"] > 1]
    assert points
    for point in points:
        assert traffic(model, point["ranks"], point["batch"]) == point["bytes_per_step"]


def test_its_parts_by_hand() -> None:
    machine = Machine(graph=0.01, pair=1e-6, launch=1.0, per_node=2, near_gb=1.0, far_gb=0.1, near_us=100, far_us=200)
    model = Model(layers=1, units=10, width=25, parameters=1000, views=1)
    alone, four = step_ms(machine, model, 1, 1000), step_ms(machine, model, 4, 1000)
    assert math.isclose(alone["total"], 1000 * 0.01 + 1000 * 1000 * 1e-6)
    assert math.isclose(four["compute"], 250 * 0.01 + 250 * 1000 * 1e-6)
    # Two nodes of two: 0.1 ms for the near and 0.2 ms for the far half of a doubling; 3 others' rows at 0.1 GB/s.
    assert math.isclose(four["gather"], 2 * 0.3 + 2 * 3 * 250 * 25 * 4 / 1e5)
    assert math.isclose(four["reduce"], 0.3 + 2 * 3 / 4 * 4000 / 1e5)
    assert step_ms(replace(machine, launch=50.0), model, 4, 1000)["compute"] == 50
    assert step_ms(replace(machine, disk_gb=1e-6), model, 1, 1000)["total"] == 1000 * 157 / 1
