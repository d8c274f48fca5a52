"""DirectCLR sees a slice of every layer, so that every layer learns."""

import pytest
import torch

from nmrgcl.errors import SettingError
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.directclr import DirectCLR
from nmrgcl.train import Progress
from tests.methods.members import GRAPHS, settings_of


def build(*assignments: str) -> DirectCLR:
    method = build_pretraining(settings_of("directclr", "encoder.layers=3", *assignments), GRAPHS.num_features)
    assert isinstance(method, DirectCLR)
    return method.train()


def test_the_slice_of_three_layers_by_hand() -> None:
    row = torch.arange(24.0)[None]
    assert build("share=0.25").slice(row).tolist() == [[0, 1, 8, 9, 16, 17]]
    assert build("share=1.0").slice(row).tolist() == row.tolist()
    assert build("share=0.01").slice(row).tolist() == [[0, 8, 16]]
    assert build("encoder.name=gcn", "share=0.25").slice(row[:, :8]).tolist() == [[0, 1]]


def test_the_gradient_reaches_every_layer_and_in_the_last_one_the_slice_alone() -> None:
    method = build("share=0.25", "encoder.units=32")
    for loss in method.losses(GRAPHS, Progress()):
        loss.backward()
    for number in range(3):
        grad = method.get_parameter(f"encoder.layers.{number}.second.weight").grad
        assert grad is not None
        assert bool(grad[:8].any())
    last = method.get_parameter("encoder.layers.2.norm.weight").grad
    first = method.get_parameter("encoder.layers.0.norm.weight").grad
    assert last is not None
    assert first is not None
    assert bool(last[:8].any())
    assert not last[8:].any()
    assert bool(first[8:].any())  # what the loss does not see learns through the layers above


def test_a_batch_of_one_graph_is_refused_in_one_line() -> None:
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        list(build().losses(GRAPHS.take(torch.tensor([0])), Progress()))
