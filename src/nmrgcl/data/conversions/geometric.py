"""PyTorch Geometric."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from nmrgcl.data.conversions.needed import needed
from nmrgcl.data.conversions.parts import check_values, parts, pointers
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import with_features
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data


def from_pyg(data: "Data | Iterable[Data]", *, categorical: bool = False) -> Graphs:
    """A ``Data``, a ``Batch``, or a list or dataset of ``Data``, on the CPU, exactly as it is.

    Directions, loops and repeated edges stay; ``as_dataset`` is for graphs to learn from, and treats them as
    ``docs/your-data.md`` says.

    Floating-point ``x`` is kept. Integer ``x`` becomes floating point, unless ``categorical``: then column ``c``
    holds values from 0 on, each of which gets a one-hot column of its own. ``y`` is of graphs if it has a row for
    each, else of nodes.
    """
    geometric = needed("torch_geometric.data", "PyTorch Geometric", "pyg")
    items: list[Data] = [data] if isinstance(data, geometric.Data) else list(data)
    for i, item in enumerate(items):
        if not isinstance(item, geometric.Data):
            raise DataError(f"item {i} is a {type(item).__name__}, not a homogeneous torch_geometric Data")
    sizes = [_sizes(item, i) for i, item in enumerate(items)]
    starts = torch.tensor([0, *(int(size.sum()) for size in sizes)]).cumsum(0)
    edges = [_edges(item, i) + start for i, (item, start) in enumerate(zip(items, starts[:-1], strict=True))]
    x, num_features = _features(_stack(items, "x"), categorical)
    y, edge_weight, edge_attr = (_stack(items, name) for name in ("y", "edge_weight", "edge_attr"))
    check_values(x, edge_weight, edge_attr)
    for name, values in (("edge_attr", edge_attr), ("edge_weight", edge_weight)):
        if values is not None and len(values) != (count := sum(part.shape[1] for part in edges)):
            raise DataError(f"{name} has {len(values)} rows, but there are {count} edges")
    return Graphs.build(
        torch.cat([torch.empty(2, 0, dtype=torch.long), *edges], 1),
        pointers(torch.cat([torch.empty(0, dtype=torch.long), *sizes])),
        x=x,
        num_features=num_features,
        y=y,
        y_level="graph" if y is None else _level([len(_tensor(item.y)) for item in items], sizes),
        edge_attr=edge_attr,
        edge_weight=edge_weight,
    )


def to_pyg(graphs: Graphs | Dataset) -> "Batch":
    """One ``Data`` per graph with dense ``x``, as a ``Batch``; what a view has removed is not in it.

    A dataset has the features that a model would see.
    """
    geometric = needed("torch_geometric.data", "PyTorch Geometric", "pyg")
    graphs = with_features(graphs).compact()
    x = graphs.dense_x()
    items = []
    for g, part in enumerate(parts(graphs)):
        item = geometric.Data(x=x[part.nodes], edge_index=part.edge_index)
        if graphs.y is not None:
            item.y = graphs.y[part.nodes] if graphs.y_level == "node" else graphs.y[g : g + 1]
        if graphs.edge_attr is not None:
            item.edge_attr = graphs.edge_attr[part.edges]
        if graphs.edge_weight is not None:
            item.edge_weight = graphs.edge_weight[part.edges]
        items.append(item)
    return geometric.Batch.from_data_list(items)


def _sizes(item: "Data", i: int) -> Tensor:
    """Nodes of each graph in ``item``: a ``Batch`` has several."""
    if "ptr" in item:
        return item.ptr.diff().cpu()
    if item.edge_index is None and "adj_t" in item:
        raise DataError(f"item {i} has adj_t; convert it to edge_index")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyG guesses with a warning: nodes without edges may be missed
            size = item.num_nodes
    except UserWarning:
        raise DataError(f"item {i} needs x or num_nodes: edges alone do not tell how many nodes there are") from None
    if "batch" not in item:
        return torch.tensor([size])
    if (item.batch.diff() < 0).any():
        raise DataError(f"item {i}: batch is not sorted, but the nodes of a graph must stand together")
    return torch.bincount(item.batch).cpu()


def _edges(item: "Data", i: int) -> Tensor:
    edges = item.edge_index
    if edges is None:
        return torch.empty(2, 0, dtype=torch.long)
    if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < item.num_nodes:
        raise DataError(f"item {i}: an edge points outside its {item.num_nodes} nodes")
    return edges.cpu()


def _stack(items: "Sequence[Data]", name: str) -> Tensor | None:
    values = [getattr(item, name, None) for item in items]
    if all(value is None for value in values):
        return None
    for i, value in enumerate(values):
        if value is None:
            raise DataError(f"item {i} has no {name}, but others have")
    try:
        return torch.cat([_tensor(value).cpu() for value in values])
    except RuntimeError:
        raise DataError(f"{name} differs in width between items") from None


def _tensor(value: Any) -> Tensor:
    return torch.atleast_1d(torch.as_tensor(value))


def _level(rows: list[int], sizes: list[Tensor]) -> Literal["graph", "node"]:
    if rows == [len(size) for size in sizes]:
        return "graph"
    if rows == [int(size.sum()) for size in sizes]:
        return "node"
    raise DataError("y has neither one row a graph nor one row a node")


def _features(x: Tensor | None, categorical: bool) -> tuple[Tensor | None, int | None]:
    """``x`` as ``Graphs`` has it, and how many columns there are where that cannot be seen."""
    if x is None:
        return None, None
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if x.is_floating_point() or not categorical:
        return (x if x.is_floating_point() else x.float()), None
    if x.numel() and int(x.min()) < 0:
        raise DataError("categorical x holds a negative value")
    widths = x.long().amax(0) + 1 if len(x) else torch.zeros(x.shape[1], dtype=torch.long)
    return x + (widths.cumsum(0) - widths), int(widths.sum())
