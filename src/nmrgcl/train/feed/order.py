"""The order of an epoch: random throughout, or random in a way that a disk can follow."""

import torch
from torch import Tensor

LARGEST_BLOCK = 256
FEWEST_BLOCKS = 16


def batches(num_graphs: int, batch_size: int, chunk: int = 0) -> list[Tensor]:
    """Random batches of graph numbers, on the host; a last batch of one graph, which has no negatives, is left out.

    With a ``chunk``, which must be a multiple of the batch size, so many graphs at a time make up their batches among
    themselves. They are blocks of neighbours, drawn at random, which the source has in one piece each.
    """
    parts = random_order(num_graphs, chunk).split(batch_size)
    return [part for part in parts if part.shape[0] > 1]


def random_order(num_graphs: int, chunk: int = 0) -> Tensor:
    """``[num_graphs]`` a permutation, by torch's global generator."""
    if not 0 < chunk < num_graphs:
        return torch.randperm(num_graphs)
    blocks = torch.arange(num_graphs).split(block_size(chunk))
    mixed = torch.cat([blocks[number] for number in torch.randperm(len(blocks)).tolist()])
    return torch.cat([part[torch.randperm(part.shape[0])] for part in mixed.split(chunk)])


def block_size(chunk: int) -> int:
    """Neighbours that stay together: some pages of a disk, but many blocks a chunk."""
    return min(LARGEST_BLOCK, max(1, chunk // FEWEST_BLOCKS))


def largest_chunk(sizes: Tensor, chunk: int) -> int:
    """The most that any chunk can hold of what each graph (``sizes``) has so much of."""
    block = block_size(chunk)
    padded = torch.nn.functional.pad(sizes, (0, -sizes.shape[0] % block))
    of_blocks = padded.view(-1, block).sum(1)
    # A chunk has parts of one block more than fit, of another where the short last block is among them.
    return int(of_blocks.topk(min(chunk // block + 3, of_blocks.shape[0])).values.sum())
