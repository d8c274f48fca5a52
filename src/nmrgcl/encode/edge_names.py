"""Edge features as encoders read them: labels as rows of one table, numbers as they are."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor, nn

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

EdgeShape = tuple[int, ...] | int
"""What the edges of a dataset have: the number of labels in each column, or the number of columns of attributes."""


class EdgeNames(nn.Module):
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


class EdgeNumbers(nn.Module):
    """Graphs → graphs whose ``edge_attr`` has been found to hold ``rows`` numbers for each edge.

    Edges that a view adds have zeros, which a linear map without bias leaves as they are.
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows

    def forward(self, graphs: Graphs) -> Graphs:
        """The same graphs, with the edges that a view adds merged in."""
        graphs = graphs.merge_added()
        values = graphs.edge_attr
        if values is None or not values.is_floating_point() or values.shape[1:] != (self.rows,):
            raise DataError(
                f"edge_attr must hold floating-point numbers in {self.rows} columns, but {_found(values)}; "
                "set data.edges=attributes"
            )
        return graphs


def read_edges(shape: EdgeShape) -> EdgeNames | EdgeNumbers:
    """What checks the edge features of a batch and brings them into the form that ``FeatureMap`` takes."""
    return EdgeNumbers(shape) if isinstance(shape, int) else EdgeNames(shape)


def _checked(values: Tensor | None, sizes: Sequence[int]) -> Tensor:
    """``[E, C]``; on a GPU, which nobody waits for, a value beyond its table names none."""
    if values is None or values.is_floating_point() or values.dim() != 2 or values.shape[1] != len(sizes):
        raise DataError(
            f"edge_attr must hold whole numbers in {len(sizes)} columns, but {_found(values)}; "
            "set data.edges=labels or use encoder.name=gin"
        )
    if values.device.type == "cpu" and values.numel():
        for column, (largest, size) in enumerate(zip(values.amax(0).tolist(), sizes, strict=True)):
            if largest > size:
                raise DataError(
                    f"edge_attr, column {column}: value {largest} is beyond the {size} known ones; number them from 1"
                )
    return values


def _found(values: Tensor | None) -> str:
    return "there is none" if values is None else f"it is {values.dtype} of shape {list(values.shape)}"
