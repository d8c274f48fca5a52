"""Views whose shapes depend on no value and that read none on the host, as a recorded step on a GPU needs them.

PyTorch's fake tensors have shapes but no values, so whatever asks for a value fails.
"""

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode

from nmrgcl.augment import VIEWS
from nmrgcl.graphs import Graphs
from nmrgcl.ops import batch, new_edges, walk
from tests.examples import random_graphs


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graphs]:
    """Graphs without values, on a device that nobody may wait for."""
    for operation in (batch, new_edges, walk):
        monkeypatch.setattr(operation, "on_host", lambda _: False)
    real = random_graphs([6, 1, 9, 4, 0, 7], density=0.4, categorical=True)
    values = ((field.name, getattr(real, field.name)) for field in fields(real))
    with FakeTensorMode():
        fake = {name: torch.empty(v.shape, dtype=v.dtype) for name, v in values if isinstance(v, torch.Tensor)}
        yield replace(real, **fake)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_asks_for_no_value(name: str, graphs: Graphs) -> None:
    twice = graphs.twice()
    chosen = torch.empty(len(twice), dtype=torch.bool)
    for seen in (VIEWS[name]()(twice), VIEWS[name]()(twice, chosen)):
        seen = seen.merge_added()
        assert seen.live_edges.shape == (seen.num_edges,)


def test_a_fake_tensor_refuses_to_be_compacted(graphs: Graphs) -> None:
    with pytest.raises(DynamicOutputShapeException):
        graphs.twice().compact()
