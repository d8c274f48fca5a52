"""How many threads a training uses."""

import pytest
import torch

from nmrgcl.run.machine import MANY_NODES, WIDE_UNITS, suitable_threads, torch_threads
from nmrgcl.settings import resolve


@pytest.mark.parametrize(
    ("units", "nodes", "threads"),
    [(WIDE_UNITS, MANY_NODES, 3), (WIDE_UNITS - 1, MANY_NODES, 1), (WIDE_UNITS, MANY_NODES - 1, 1)],
)
def test_only_wide_encoders_of_many_nodes_use_several_threads(units: int, nodes: int, threads: int) -> None:
    settings = resolve("graphcl", assignments=[f"encoder.units={units}"])
    with torch_threads(3):
        with suitable_threads(settings, nodes):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 3
