"""Which graphs are together in a batch: anyone, or one of each size.

A recorded step has room for its largest batch, and pays for that room in every one. Where a few graphs are many times
as large as others, random batches differ in size by a factor of two; batches with one graph of each size hardly do.
"""

import torch
from torch import Tensor

from nmrgcl.graphs import Room


def random_batches(train: Tensor, steps: int, batch_size: int) -> Tensor:
    """``[steps, batch_size]`` of ``train``, all of them different."""
    return train[torch.randperm(len(train))][: steps * batch_size].view(steps, batch_size)


def batches_by_size(train: Tensor, sizes: Tensor, steps: int, batch_size: int) -> Tensor:
    """The same with one graph of each class of size in every batch; ``sizes`` are those of all graphs.

    The graphs of an epoch are ranked by size. The ``steps`` smallest are dealt to the batches at random, one to each,
    then the next ones.
    """
    classes = _ranked(random_batches(train, steps, batch_size).flatten(), sizes).view(batch_size, steps)
    return classes.gather(1, torch.rand(batch_size, steps).argsort(1)).T


def room_by_size(train: Tensor, nodes: Tensor, edges: Tensor, steps: int, batch_size: int) -> Room:
    """Enough for every batch of ``batches_by_size``, whose sizes are ``nodes`` + ``edges``.

    Whichever graphs an epoch leaves out, those of class k are among the ranks from ``k steps`` on, of which there are
    as many more than ``steps`` as are left out.
    """
    left = len(train) - steps * batch_size
    classes = _ranked(train, nodes + edges).unfold(0, steps + left, steps)
    return Room.of(int(nodes[classes].amax(1).sum()), int(edges[classes].amax(1).sum()))


def _ranked(train: Tensor, sizes: Tensor) -> Tensor:
    """By size, and among equals by number: whichever graphs are left out, the others keep their order."""
    train = train.sort().values
    return train[sizes[train].argsort(stable=True)]
