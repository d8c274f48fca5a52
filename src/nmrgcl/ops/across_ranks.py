"""What the processes (ranks) of one training tell each other about a batch. With one process, nothing happens here.

The B graphs of a batch are divided among N ranks. Each rank computes the terms of the loss that belong to its own
graphs, times N, so that the average over ranks is the loss of one process with the whole batch. In the backward pass
``gather`` adds up the gradients that the losses of all ranks have for a row, and DistributedDataParallel averages the
gradients of the weights over ranks. The result is the gradient of one process with the whole batch.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

TRAFFIC: Counter[str] = Counter()
"""Bytes that this rank has handed to collective operations, by kind; ``docs/scaling.md`` has the formulas."""


@dataclass(frozen=True)
class Shares:
    """How a batch is divided: rank r has ``sizes[r]`` of its graphs or nodes, and this process is ``rank``."""

    rank: int
    sizes: tuple[int, ...]
    group: Any = None

    @property
    def first(self) -> int:
        """The place of this rank's first graph in the batch."""
        return sum(self.sizes[: self.rank])


_shares: Shares | None = None


@contextmanager
def sharing(shares: Shares | None) -> Iterator[None]:
    """Inside, batches are parts of a batch that is divided like this; None means undivided."""
    global _shares
    before, _shares = _shares, shares
    try:
        yield
    finally:
        _shares = before


def active() -> bool:
    """True if other ranks hold parts of the batch."""
    return _shares is not None


def count_ranks() -> int:
    """The number of ranks that share the batch."""
    return 1 if _shares is None else len(_shares.sizes)


def first_row() -> int:
    """The place of this rank's first row among those that ``gather`` returns."""
    return 0 if _shares is None else _shares.first


def count_rows(own: int) -> int:
    """The number of rows on all ranks, if this one has ``own`` and every graph or node has as many as any other."""
    if _shares is None:
        return own
    items = _shares.sizes[_shares.rank]
    return (own // items if items else 1) * sum(_shares.sizes)  # A rank may have no node that both views keep.


def tell_rows(own: int) -> None:
    """Until the end of ``sharing``, this rank has ``own`` rows; all ranks call this, and the host waits for them.

    At node level a row belongs to a node, and how many nodes of its sample both views keep is known to one rank only.
    """
    global _shares
    if _shares is None:
        return
    number = torch.tensor([own])
    _counted("numbers", number)
    _shares = replace(_shares, sizes=tuple(_all_gather(number, _shares).tolist()))


def mean(values: Tensor) -> Tensor:
    """The mean of ``values``, of which every graph or node of the batch has equally many.

    With several ranks it is this rank's part of the mean, times the number of ranks.
    """
    if _shares is None:
        return values.mean()
    return values.sum() * (count_ranks() / max(count_rows(values.numel()), 1))


def ratio(total: Tensor, count: Tensor) -> Tensor:
    """The mean of ``count`` values that add up to ``total``, and of those on the other ranks; 0 if there are none.

    Like ``mean``, it is this rank's part of the mean, times the number of ranks.
    """
    return total / count.clamp(min=1) if _shares is None else count_ranks() * total / add_up(count).clamp(min=1)


def gather(rows: Tensor) -> Tensor:
    """``[b, …]`` rows of this rank's graphs to the ``[B, …]`` rows of the whole batch; differentiable."""
    if _shares is None:
        return rows
    result: Tensor = _Gather.apply(rows, _shares)
    return result


def add_up(value: Tensor, what: str = "numbers") -> Tensor:
    """The sum over ranks, without a gradient; ``what`` it is counted as in ``TRAFFIC``."""
    if _shares is None:
        return value
    total = value.detach().clone()
    _counted(what, total)
    dist.all_reduce(total, group=_shares.group)
    return total


def average(value: Tensor) -> Tensor:
    """The average over ranks, without a gradient."""
    return value if _shares is None else add_up(value) / count_ranks()


def of_every_rank(value: Tensor) -> Tensor:
    """``[N, …]``: the values of all ranks, without a gradient."""
    assert _shares is not None
    _counted("statistics", value)
    return _all_gather(value.detach().contiguous(), _shares).view(len(_shares.sizes), *value.shape)


def from_first(value: Tensor) -> Tensor:
    """The value of rank 0, such as random numbers that all graphs of a batch share."""
    if _shares is None:
        return value
    value = value.detach().clone()
    _counted("numbers", value)
    dist.broadcast(value, group=_shares.group, group_src=0)
    return value


class _Gather(torch.autograd.Function):
    """Ranks may have unequal parts, so each is padded to the largest. Backwards, the sum over ranks is scattered."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, shares: Shares) -> Tensor:
        ctx.shares = shares
        most = max(shares.sizes)
        part = rows.contiguous()
        if len(rows) < most:
            part = torch.cat([rows, rows.new_zeros(most - len(rows), *rows.shape[1:])])
        _counted("embeddings", part)
        bits = part.view(torch.uint8) if part.dtype == torch.bool else part
        every = _all_gather(bits, shares).view(part.dtype)
        return every if most * len(shares.sizes) == sum(shares.sizes) else every[_places(shares, rows.device)]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        shares: Shares = ctx.shares
        most, own = max(shares.sizes), shares.sizes[shares.rank]
        grad = grads[0].contiguous()
        if most * len(shares.sizes) != sum(shares.sizes):
            padded = grad.new_zeros(most * len(shares.sizes), *grad.shape[1:])
            padded[_places(shares, grad.device)] = grad
            grad = padded
        _counted("embeddings", grad)
        mine = grad.new_empty(most, *grad.shape[1:])
        # PyTorch 2.13 has renamed the operation.
        scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        # Every rank's loss depends on every row, so ∂L/∂row is the sum over ranks of the gradients each has computed
        # for it.
        scatter(mine, grad, group=shares.group)
        return mine[:own], None


def _places(shares: Shares, device: torch.device) -> Tensor:
    """Where the rows of the batch are among the padded parts."""
    most = max(shares.sizes)
    parts = [torch.arange(size) + rank * most for rank, size in enumerate(shares.sizes)]
    return torch.cat(parts).to(device)


def _all_gather(part: Tensor, shares: Shares) -> Tensor:
    """The ``part`` of every rank, one after another, in a tensor of one dimension more or as many rows more."""
    part = part.reshape(1) if part.dim() == 0 else part
    every = part.new_empty(len(shares.sizes) * part.shape[0], *part.shape[1:])
    gather_parts = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    gather_parts(every, part, group=shares.group)
    return every


def _counted(what: str, tensor: Tensor) -> None:
    TRAFFIC[what] += tensor.nbytes
