"""What joins two atoms, as the edge features that message passing reads."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor, nn

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs


class BondNames(nn.Module):
    """Graphs → graphs whose ``edge_attr`` names rows of one table, where those of all columns follow each other.

    In column c of ``edge_attr`` (``[E, C]``, int64) the value k ≥ 1 names row k − 1 of its own ``sizes[c]`` rows; less
    than 1 names none, as on the edges that a view adds.
    """

    first: Tensor
    last: Tensor

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        before = [0, *accumulate(self.sizes)][:-1]
        # On the device beforehand: a step that is recorded cannot bring them there.
        self.register_buffer("first", torch.tensor(before) - 1, persistent=False)
        self.register_buffer("last", torch.tensor(self.sizes), persistent=False)

    @property
    def rows(self) -> int:
        """Of the table."""
        return sum(self.sizes)

    def forward(self, graphs: Graphs) -> Graphs:
        """The same graphs, with the edges that a view adds merged in."""
        graphs = graphs.merge_added()
        values = _checked(graphs.edge_attr, self.sizes)
        known = (values >= 1) & (values <= self.last)
        return replace(graphs, edge_attr=torch.where(known, values + self.first, -1))


def _checked(values: Tensor | None, sizes: Sequence[int]) -> Tensor:
    """``[E, C]``; on a GPU, which nobody waits for, a value beyond its table names none."""
    if values is None or values.is_floating_point() or values.dim() != 2 or values.shape[1] != len(sizes):
        found = "there is none" if values is None else f"it is {values.dtype} of shape {list(values.shape)}"
        raise DataError(f"edge_attr must hold whole numbers in {len(sizes)} columns, but {found}; use encoder.name=gin")
    if values.device.type == "cpu" and values.numel():
        for column, (largest, size) in enumerate(zip(values.amax(0).tolist(), sizes, strict=True)):
            if largest > size:
                raise DataError(
                    f"edge_attr, column {column}: value {largest} is beyond the {size} known ones; number them from 1"
                )
    return values
