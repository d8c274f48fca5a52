"""Read PyTorch Geometric graphs to learn from: features, classes, weights, ids and edges."""

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.assemble import Listing
from nmrgcl.data.categories import categories_of
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.geometric import from_pyg
from nmrgcl.data.dataset import Label, Level, edge_features
from nmrgcl.data.ids import distinct_ids
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Data


def pyg_listing(items: "list[Data]", chosen: Chosen) -> Listing:
    """List the graphs; integer features are numbers unless ``categorical`` is chosen."""
    graphs = from_pyg([_bare(item, i, chosen) for i, item in enumerate(items)])
    numbers, kinds = _features(items, graphs, chosen)
    y, level, notes = _classes(items, graphs)
    return Listing(
        sizes=graphs.node_ptr.diff().numpy(),
        source=graphs.edge_index[0].numpy(),
        destination=graphs.edge_index[1].numpy(),
        stated=True,
        edge_weight=None if graphs.edge_weight is None else graphs.edge_weight.numpy(),
        **edge_features(graphs),
        node_attributes=numbers,
        categories=categories_of(kinds),
        y=y,
        level=level,
        graph_ids=_graph_ids(items),
        left_out=notes,
    )


def _bare(item: "Data", i: int, chosen: Chosen) -> Any:
    """Return the item without classes, and with the chosen weights and edge features."""
    if type(item).__name__ == "HeteroData" or not hasattr(item, "edge_index"):
        return item  # from_pyg refuses it
    bare = copy(item)
    bare.y = None
    weight = "edge_weight" if chosen.edge_weight == "weight" else chosen.edge_weight
    given = None if weight is None or weight not in item else torch.as_tensor(item[weight])
    bare.edge_weight = None if given is None else given.flatten().float()
    if chosen.edge_feature is not None:
        columns = [_rows(item, name, i) for name in chosen.edge_feature]
        bare.edge_attr = columns[0] if len(columns) == 1 else torch.cat([column.float() for column in columns], 1)
    return bare


def _features(
    items: "list[Data]", graphs: Graphs, chosen: Chosen
) -> tuple[np.ndarray | None, dict[str, list[int | str | None]]]:
    """Return the ``[N, D]`` numeric features, and the categorical ones by name."""
    names = chosen.node_feature
    if names is None:
        names = ("x",) if any(item.x is not None for item in items) else ()
    numbers: list[np.ndarray] = []
    kinds: dict[str, list[int | str | None]] = {}
    for name in names:
        texts = [_texts(item[name]) if name in item else None for item in items]
        if all(text is not None for text in texts):
            column: list[int | str | None] = [value for text in texts for value in text or ()]
            kinds[name] = column
            rows = len(column)
        else:
            parts = [_rows(item, name, i) for i, item in enumerate(items)]
            if len({part.shape[1] for part in parts}) > 1:
                raise DataError(f"{name} differs in width between items; all nodes need the same number of columns")
            table = torch.cat(parts)
            rows = len(table)
            if chosen.categorical and not table.is_floating_point():
                kinds |= {f"{name}[{c}]": values.tolist() for c, values in enumerate(table.long().T)}
            else:
                numbers.append(_finite(table, name))
        if rows != graphs.num_nodes:
            raise DataError(f"{name} has {rows} rows, but there are {graphs.num_nodes} nodes; pass one per node")
    return (np.concatenate(numbers, 1) if numbers else None), kinds


def _texts(value: Any) -> list[str] | None:
    """Return the texts in a list, or in the lists of a batch; None for anything else."""
    if isinstance(value, Tensor | str) or not isinstance(value, Iterable):
        return None
    flat = [v for part in value for v in (part if isinstance(part, list | tuple | np.ndarray) else [part])]
    return [str(v) for v in flat] if flat and all(isinstance(v, str) for v in flat) else None


def _rows(item: "Data", name: str, i: int) -> Tensor:
    """Return an attribute as ``[rows, D]`` on the CPU."""
    if name not in item or item[name] is None:
        raise DataError(f"item {i} has no {name}; add it to all items or leave it out")
    try:
        value = torch.as_tensor(item[name]).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"item {i}: {name} is neither a tensor nor a list of text; convert it") from None
    return value.reshape(-1, 1) if value.dim() < 2 else value.flatten(1)


def _finite(table: Tensor, name: str) -> np.ndarray:
    values = table.float().numpy()
    if not np.isfinite(values).all():
        raise DataError(f"{name} contains a node feature that is not finite; replace it")
    return values


def _classes(items: "list[Data]", graphs: Graphs) -> tuple[list[Label | None] | None, Level, tuple[str, ...]]:
    """Return the classes of graphs, or of the nodes of a single graph, and notes; a graph may have no class."""
    parts = [_labels(item.y) if "y" in item else None for item in items]
    if all(part is None for part in parts):
        return None, "graph", ()
    if any(part == [] for part in parts):
        return None, "graph", ("y left out (classes must be integers or text)",)
    of_graphs = [int(item.num_graphs) if "ptr" in item or "batch" in item else 1 for item in items]
    of_nodes = [int(item.num_nodes) for item in items]
    rows = [len(part or ()) for part in parts]
    if _fits(rows, of_graphs):
        filled = [part or [None] * count for part, count in zip(parts, of_graphs, strict=True)]
        return [label for part in filled for label in part], "graph", ()
    if not _fits(rows, of_nodes):
        raise DataError("y has neither one row per graph nor one row per node")
    if graphs.num_graphs > 1:
        return None, "graph", ("y left out (nodes have classes only in a single graph)",)
    return parts[0], "node", ()


def _fits(rows: list[int], counts: list[int]) -> bool:
    return all(row in (0, count) for row, count in zip(rows, counts, strict=True))


def _labels(y: Any) -> list[Label | None] | None:
    """Return classes, None where one is missing; an empty list for anything else, such as regression targets."""
    if y is None:
        return None
    if isinstance(y, str):
        return [y]
    if (texts := _texts(y)) is not None:
        return list(texts)
    try:
        values = torch.atleast_1d(torch.as_tensor(y))
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"y is a {type(y).__name__}; classes must be integers or text") from None
    values = values.squeeze(1) if values.dim() == 2 and values.shape[1] == 1 else values
    if values.dim() > 1:
        return []
    listed: list[Any] = values.tolist()
    if not values.is_floating_point():
        return [int(value) for value in listed]
    given = [None if value != value else value for value in listed]
    if not all(value is None or (value.is_integer() and abs(value) <= 2**53) for value in given):
        return []
    return [None if value is None else int(value) for value in given]


def _graph_ids(items: "list[Data]") -> Texts | None:
    """Return the attribute ``name``, else ``id``, else ``smiles``, if every graph has one and they are distinct."""
    for key in ("name", "id", "smiles"):
        names = [name for item in items for name in _names(getattr(item, key, None), item)]
        if (ids := distinct_ids(names)) is not None:
            return ids
    return None


def _names(value: Any, item: "Data") -> list[Any]:
    """Return one name per graph of the item, None where it is missing; a ``Batch`` has a list of names."""
    count = getattr(item, "num_graphs", 1) if "ptr" in item else 1
    names = [value] if isinstance(value, str | int) else value
    valid = isinstance(names, list | tuple) and all(isinstance(name, str | int) for name in names)
    return list(names) if valid and len(names) == count else [None] * count
