"""Convert from and to PyTorch Geometric, keeping graphs exactly as they are."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from nmrgcl.data.conversions.parts import check_values, needed, parts, pointers
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import with_features
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data


def from_pyg(data: "Data | Iterable[Data]", *, categorical: bool = False) -> Graphs:
    """Convert a ``Data``, a ``Batch``, or a list or dataset of ``Data`` exactly as it is, on the CPU.

    Directions, self-loops and repeated edges are kept. To learn from graphs, use ``as_dataset`` instead, which applies
    the rules in ``docs/your-data.md``.

    Integer ``x`` becomes floating point unless ``categorical``: then each value of a column, counted from 0, is a
    one-hot column of its own. ``y`` belongs to graphs if it has one row per graph, else to nodes.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from nmrgcl import from_pyg
        >>> edge = Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> from_pyg([edge, edge])
        Graphs(2 graphs, 4 nodes, 4 directed edges, 3 dense features, cpu)
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
    """Return a ``Batch`` with one ``Data`` per graph and dense ``x``; parts that a view has removed are left out.

    A dataset is converted with its default features.

    Example:
        >>> from nmrgcl import load, to_pyg
        >>> batch = to_pyg(load("MUTAG"))
        >>> batch.num_graphs, batch.x.shape
        (188, torch.Size([3371, 7]))
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
    """Return the number of nodes of each graph in ``item``, which may be a ``Batch``."""
    if "ptr" in item:
        return item.ptr.diff().cpu()
    if item.edge_index is None and "adj_t" in item:
        raise DataError(f"item {i} has adj_t; convert it to edge_index")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyG only warns when it has to guess the number of nodes from the edges
            size = item.num_nodes
    except UserWarning:
        raise DataError(f"item {i} needs x or num_nodes: edges alone do not give the number of nodes") from None
    if "batch" not in item:
        return torch.tensor([size])
    if (item.batch.diff() < 0).any():
        raise DataError(f"item {i}: batch is not sorted; the nodes of a graph must be consecutive")
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
            raise DataError(f"item {i} has no {name}, but others do")
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
    raise DataError("y has neither one row per graph nor one row per node")


def _features(x: Tensor | None, categorical: bool) -> tuple[Tensor | None, int | None]:
    """Return ``x`` as in ``Graphs`` and, for categorical features, the number of one-hot columns."""
    if x is None:
        return None, None
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if x.is_floating_point() or not categorical:
        return (x if x.is_floating_point() else x.float()), None
    if x.numel() and int(x.min()) < 0:
        raise DataError("categorical x contains a negative value")
    widths = x.long().amax(0) + 1 if len(x) else torch.zeros(x.shape[1], dtype=torch.long)
    return x + (widths.cumsum(0) - widths), int(widths.sum())
