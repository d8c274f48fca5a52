"""The order of graphs in an epoch: fully random, or random within chunks for efficient reading from disk."""

import torch
from torch import Tensor

LARGEST_BLOCK = 256
FEWEST_BLOCKS = 16


def batches(num_graphs: int, batch_size: int, chunk: int = 0) -> list[Tensor]:
    """Random batches of graph indices on the host; a last batch of one graph is left out, since it has no negatives.

    ``chunk`` must be a multiple of the batch size. If it is given, graphs are shuffled within chunks of that many
    graphs. A chunk consists of randomly chosen blocks of consecutive graphs, which the source can read in one piece.
    """
    parts = random_order(num_graphs, chunk).split(batch_size)
    return [part for part in parts if part.shape[0] > 1]


def random_order(num_graphs: int, chunk: int = 0) -> Tensor:
    """A random permutation ``[num_graphs]`` from torch's global generator."""
    if not 0 < chunk < num_graphs:
        return torch.randperm(num_graphs)
    blocks = torch.arange(num_graphs).split(block_size(chunk))
    mixed = torch.cat([blocks[number] for number in torch.randperm(len(blocks)).tolist()])
    return torch.cat([part[torch.randperm(part.shape[0])] for part in mixed.split(chunk)])


def block_size(chunk: int) -> int:
    """How many consecutive graphs stay together: several disk pages, but still many blocks per chunk."""
    return min(LARGEST_BLOCK, max(1, chunk // FEWEST_BLOCKS))


def largest_chunk(sizes: Tensor, chunk: int) -> int:
    """An upper bound on the total size of any chunk, given the ``sizes`` of the graphs (nodes or edges)."""
    block = block_size(chunk)
    padded = torch.nn.functional.pad(sizes, (0, -sizes.shape[0] % block))
    of_blocks = padded.view(-1, block).sum(1)
    # A chunk may begin and end inside a block, and the last block may be short, hence three more blocks than fit.
    return int(of_blocks.topk(min(chunk // block + 3, of_blocks.shape[0])).values.sum())
