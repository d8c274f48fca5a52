"""Which graphs share a batch: random ones, or one of each size class.

A recorded step pads every batch to the largest one. If a few graphs are many times as large as the others, random
batches differ in size by a factor of two, while batches with one graph of each size class hardly differ.
"""

import torch
from torch import Tensor

from nmrgcl.graphs import Room


def random_batches(train: Tensor, steps: int, batch_size: int) -> Tensor:
    """``[steps, batch_size]`` distinct random elements of ``train``."""
    return train[torch.randperm(len(train))][: steps * batch_size].view(steps, batch_size)


def batches_by_size(train: Tensor, sizes: Tensor, steps: int, batch_size: int) -> Tensor:
    """Random batches with one graph of each size class; ``sizes`` holds the sizes of all graphs.

    The graphs of an epoch are ranked by size. The ``steps`` smallest form the first class and are distributed over the
    batches at random, one to each; then follow the next ``steps``, and so on.
    """
    classes = _ranked(random_batches(train, steps, batch_size).flatten(), sizes).view(batch_size, steps)
    return classes.gather(1, torch.rand(batch_size, steps).argsort(1)).T


def room_by_size(train: Tensor, nodes: Tensor, edges: Tensor, steps: int, batch_size: int) -> Room:
    """Room for every batch of ``batches_by_size`` with sizes ``nodes`` + ``edges``.

    Whichever graphs an epoch leaves out, those of class k have ranks from ``k steps`` to ``(k + 1) steps + left``,
    where ``left`` is the number of graphs left out.
    """
    left = len(train) - steps * batch_size
    classes = _ranked(train, nodes + edges).unfold(0, steps + left, steps)
    return Room.of(int(nodes[classes].amax(1).sum()), int(edges[classes].amax(1).sum()))


def _ranked(train: Tensor, sizes: Tensor) -> Tensor:
    """``train`` sorted by size and then by index, so that leaving out graphs keeps the order of the others."""
    train = train.sort().values
    return train[sizes[train].argsort(stable=True)]
