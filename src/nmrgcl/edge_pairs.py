"""Which two directed edges make up the same undirected edge."""

import torch
from torch import Tensor


def edge_pairs(edge_index: Tensor, key: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """``[E]`` the first edge of each undirected pair, and ``[E]`` whether an edge has its reverse.

    ``key`` is destination · N + source, sorted. The k-th copy of an edge is paired with the k-th copy of its reverse.
    """
    position = torch.arange(key.shape[0], device=key.device)
    if key.shape[0] == 0:
        return position, torch.ones_like(key, dtype=torch.bool)
    reverse_key = edge_index[0] * num_nodes + edge_index[1]
    # In place, because the largest datasets are as large as memory allows.
    reverse = torch.searchsorted(key, reverse_key).sub_(torch.searchsorted(key, key)).add_(position)
    reverse.clamp_(max=key.shape[0] - 1)
    found = key[reverse] == reverse_key
    return torch.where(found, torch.minimum(position, reverse), position), found
