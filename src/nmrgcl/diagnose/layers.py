"""The output of each layer of an encoder."""

import torch
from torch import Tensor, nn

from nmrgcl.graphs import Graphs


@torch.no_grad()
def layer_outputs(encoder: nn.Module, graphs: Graphs) -> list[Tensor]:
    """Node embeddings ``[N, ·]`` that each of ``encoder.layers`` returns in evaluation mode, first layer first.

    In a GCN or GAT, these are the values before the activation.
    """
    layers = encoder.get_submodule("layers")
    found: list[Tensor] = []
    hooks = [layer.register_forward_hook(lambda _, __, out: found.append(out)) for layer in layers.children()]
    was_training = encoder.training
    try:
        encoder.eval()
        encoder(graphs)
    finally:
        encoder.train(was_training)
        for hook in hooks:
            hook.remove()
    return found
