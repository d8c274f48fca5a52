"""Embeddings of whole datasets."""

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method

RANK_GRAPHS = 1024
"""Effective rank is tracked on this many graphs at most: an SVD of more would cost as much as an epoch."""


@torch.no_grad()
def embed_all(method: Method, graphs: Graphs, batch_size: int = 512) -> Tensor:
    """``[B, D]`` embeddings of all graphs in their order, in evaluation mode."""
    method.eval()
    parts = [method.embed(graphs.take(part)) for part in torch.arange(graphs.num_graphs).split(batch_size)]
    return torch.cat(parts)


def embed_some(method: Method, graphs: Graphs) -> Tensor:
    """Embeddings of an even sample of the graphs, enough to measure their rank."""
    step = -(-graphs.num_graphs // RANK_GRAPHS)
    return embed_all(method, graphs.take(torch.arange(0, graphs.num_graphs, step)))
