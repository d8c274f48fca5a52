"""Edge features in the form that encoders read: labels as rows of one table, numbers unchanged."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor, nn

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import on_host

EdgeShape = tuple[int, ...] | int
"""The edge features of a dataset: the number of labels in each column, or the number of columns of attributes."""


class EdgeNames(nn.Module):
    """Graphs → graphs whose ``edge_attr`` names rows of one table, which holds the rows of all columns in turn.

    In column c of ``edge_attr`` (``[E, C]``, int64) the value k ≥ 1 names row k − 1 of that column's ``sizes[c]`` rows.
    Values below 1 name none, as on the edges that a view adds.
    """

    first: Tensor
    last: Tensor

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        before = [0, *accumulate(self.sizes)][:-1]
        # Buffers, so that they are on the device already: a recorded step cannot copy them there.
        self.register_buffer("first", torch.tensor(before) - 1, persistent=False)
        self.register_buffer("last", torch.tensor(self.sizes), persistent=False)

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return sum(self.sizes)

    def forward(self, graphs: Graphs) -> Graphs:
        """The same graphs, with the edges that a view adds merged in."""
        graphs = graphs.merge_added()
        values = _checked(graphs.edge_attr, self.sizes)
        known = (values >= 1) & (values <= self.last)
        return replace(graphs, edge_attr=torch.where(known, values + self.first, -1))


class EdgeNumbers(nn.Module):
    """Graphs → the same graphs, after a check that ``edge_attr`` holds ``rows`` numbers per edge.

    Edges that a view adds have zeros, which a linear map without bias maps to zeros.
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
    """A module that checks the edge features of a batch and brings them into the form that ``FeatureMap`` takes."""
    return EdgeNumbers(shape) if isinstance(shape, int) else EdgeNames(shape)


def _checked(values: Tensor | None, sizes: Sequence[int]) -> Tensor:
    """``[E, C]``. On a GPU the values are not read, because the host would have to wait: one too large names none."""
    if values is None or values.is_floating_point() or values.dim() != 2 or values.shape[1] != len(sizes):
        raise DataError(
            f"edge_attr must hold whole numbers in {len(sizes)} columns, but {_found(values)}; "
            "set data.edges=labels or use encoder.name=gin"
        )
    if on_host(values) and values.numel():
        for column, (largest, size) in enumerate(zip(values.amax(0).tolist(), sizes, strict=True)):
            if largest > size:
                raise DataError(
                    f"edge_attr, column {column}: value {largest} is beyond the {size} known ones; number them from 1"
                )
    return values


def _found(values: Tensor | None) -> str:
    return "there is none" if values is None else f"it is {values.dtype} of shape {list(values.shape)}"
