"""What each layer of an encoder puts out."""

import torch
from torch import Tensor, nn

from nmrgcl.graphs import Graphs


@torch.no_grad()
def layer_outputs(encoder: nn.Module, graphs: Graphs) -> list[Tensor]:
    """``[N, ·]`` node embeddings that each of ``encoder.layers`` returns in evaluation mode, first layer first.

    A GCN or GAT applies its activation after that.
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
