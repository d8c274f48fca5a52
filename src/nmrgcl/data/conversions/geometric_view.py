"""Apply a view to PyTorch Geometric data, including attributes that ``Graphs`` does not know."""

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.conversions.geometric import from_pyg
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Data

EXACT = 2**24
"""Largest integer up to which single precision, in which views see features, is exact."""


def view_of_pyg(view: Callable[[Graphs], Graphs], data: "Data") -> "Data":
    """Return a new ``Data`` or ``Batch`` with ``view`` applied; its edges are sorted by destination, then source.

    Attributes with one row per node or edge keep the rows of the remaining nodes and edges; new edges get zeros. All
    other attributes are the same objects as in ``data``. The view sees ``x``, the edges, their weights and attributes;
    ``y`` and an additional column of ``edge_attr`` hold the numbers by which nodes and edges are traced.
    """
    geometric = sys.modules.get("torch_geometric.data")  # loaded already if any object comes from it
    if geometric is None or not isinstance(data, geometric.Data):
        kind = type(data).__name__
        raise DataError(f"a view takes Graphs, or a homogeneous Data or Batch of torch_geometric, not {kind}")
    if "adj_t" in data:
        raise DataError("a view cannot change adj_t; convert it to edge_index")
    graphs = _numbered(data)
    return _Followed(data, graphs, view(graphs).compact()).build()


def _numbered(data: "Data") -> Graphs:
    """Convert ``data`` with node numbers as ``y`` and edge numbers, from 1, as the last column of ``edge_attr``."""
    x, edge_index, attr = data.x, data.edge_index, data.edge_attr
    if x is not None and not x.is_floating_point() and x.numel() and int(x.long().abs().max()) > EXACT:
        raise DataError(f"x contains integers above {EXACT}, which a view would round; store them under another name")
    count = 0 if edge_index is None else edge_index.shape[1]
    number = torch.arange(1, count + 1)[:, None]
    if attr is not None:
        if len(attr) != count:
            raise DataError(f"edge_attr has {len(attr)} rows, but there are {count} edges")
        attr = attr.cpu().flatten(1) if attr.dim() > 1 else attr.cpu()[:, None]
        # Both types represent the edge numbers exactly.
        number = torch.cat([attr.double() if attr.is_floating_point() else attr.long(), number], 1)
    bare = copy(data)
    bare.y, bare.edge_attr = None, number
    graphs = from_pyg(bare)
    where = next((v.device for v in data.to_dict().values() if isinstance(v, Tensor)), torch.device("cpu"))
    return replace(graphs, y=torch.arange(graphs.num_nodes), y_level="node").to(where)


class _Followed:
    """Builds the result: the attributes of ``data`` for the nodes and edges that are ``seen`` in the view."""

    def __init__(self, data: "Data", graphs: Graphs, seen: Graphs) -> None:
        assert seen.y is not None
        assert seen.edge_attr is not None
        self.data, self.seen, self.out = data, seen, copy(data)
        self.loses_nodes = seen.num_nodes < graphs.num_nodes
        self.node, self.edge = seen.y, seen.edge_attr[:, -1].long() - 1  # -1: a new edge
        self.ptr = {"node": seen.node_ptr, "edge": seen.edge_ptr}
        self.slices: dict[str, Any] = getattr(data, "_slice_dict", {})
        self.levels = {key: self._level(key) for key in data.keys()}  # noqa: SIM118 (a Data is not its keys)

    def build(self) -> "Data":
        for key in self.levels:
            self.out[key] = self._value(key, self.data[key])
        if self.slices:
            ptr = {level: values.cpu() for level, values in self.ptr.items()}
            self.out._slice_dict = {key: ptr.get(self.levels.get(key, ""), old) for key, old in self.slices.items()}
            self.out._inc_dict = self.data._inc_dict | {"edge_index": ptr["node"][:-1]}
        if hasattr(self.data, "_num_nodes"):
            self.out._num_nodes = self.seen.node_ptr.diff().tolist()
        return self.out

    def _level(self, key: str) -> str:
        """Return "node" or "edge" if there is one row for each, "numbers" for node indices, else "other"."""
        if key in ("edge_index", "edge_attr", "edge_weight"):
            return "edge"
        if "index" in key or key == "face":  # PyG's naming convention for node indices
            return "numbers"
        slices = self.slices.get(key)
        if isinstance(slices, Tensor) and "edge_index" in self.slices and "ptr" in self.data:
            found = {"node": self.data.ptr.cpu(), "edge": self.slices["edge_index"]}
            levels = [level for level, ptr in found.items() if torch.equal(ptr, slices)]
        else:  # on a copy, because PyG caches its answer in the object
            levels = [name for name in ("node", "edge") if getattr(self.out, f"is_{name}_attr")(key)]
        if len(levels) == 2:
            return "edge" if "edge" in key else "node"
        return levels[0] if levels else "other"

    def _value(self, key: str, value: Any) -> Any:
        seen = self.seen
        whole = {"edge_index": seen.edge_index, "batch": seen.batch, "ptr": seen.node_ptr, "num_nodes": seen.num_nodes}
        if key in whole:
            return whole[key]
        if key in ("x", "edge_weight", "edge_attr"):
            found = seen.edge_attr[:, :-1] if key == "edge_attr" and seen.edge_attr is not None else getattr(seen, key)
            return found.reshape(len(found), *value.shape[1:]).to(value.dtype)
        followed, _, what = key.rpartition("_")  # PyG's follow_batch
        if what == "ptr" and self.levels.get(followed) in self.ptr:
            return self.ptr[self.levels[followed]]
        if what == "batch" and self.levels.get(followed) == "edge":
            return seen.batch.index_select(0, seen.edge_index[1])
        level = self.levels[key]
        if level == "numbers" and self.loses_nodes:
            raise DataError(f"{key} contains indices of nodes that the view may remove; remove the attribute first")
        if level not in self.ptr:
            return value
        dim = self.data.__cat_dim__(key, value) if isinstance(value, Tensor | np.ndarray) else 0
        return _rows(value, self.node if level == "node" else self.edge, dim)


def _rows(value: Any, number: Tensor, dim: int) -> Any:
    """Return the rows ``number`` of a tensor, array or list; -1 gives a row of zeros, or None in a list."""
    if isinstance(value, np.ndarray):
        return _rows(torch.from_numpy(value), number.cpu(), dim).numpy()
    if not isinstance(value, Tensor):
        listed = [*value, None]
        return [listed[i] for i in number.tolist()]
    shape = list(value.shape)
    shape[dim] = 1
    extended = torch.cat([value, value.new_zeros(shape)], dim)
    return extended.index_select(dim, number.remainder(extended.shape[dim]))
