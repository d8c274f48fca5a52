import pytest
import torch

from nmrgcl.diagnose.layers import layer_outputs
from nmrgcl.encode import ENCODERS, GIN, build_encoder
from tests.examples import random_graphs

GRAPHS = random_graphs([4, 6, 5])


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - {"molecule"}))
def test_every_layer_is_seen_and_the_encoder_is_left_as_it_was(name: str) -> None:
    encoder = build_encoder(name, GRAPHS.num_features, layers=3, units=8)
    encoder.train()
    found = layer_outputs(encoder, GRAPHS)
    assert [tuple(h.shape) for h in found] == [(15, 8)] * 3
    assert encoder.training
    assert not any(module._forward_hooks for module in encoder.modules())


def test_the_layers_of_a_gin_side_by_side_are_its_output() -> None:
    encoder = GIN(GRAPHS.num_features, layers=2, units=8).eval()
    torch.testing.assert_close(torch.cat(layer_outputs(encoder, GRAPHS), 1), encoder(GRAPHS).detach())
