"""What other libraries' graphs are called, as fields of a dataset."""

from collections.abc import Sequence
from typing import Any

from nmrgcl.data.ids import as_ids, distinct_ids


def networkx_ids(graphs: Sequence[Any]) -> dict[str, Any]:
    """``graph.name``, if all have one and no two the same; of a single graph also its nodes as NetworkX has them."""
    nodes = as_ids(graphs[0]) if len(graphs) == 1 else None
    return {"graph_ids": distinct_ids([graph.graph.get("name") for graph in graphs]), "node_ids": nodes}


def pyg_ids(items: Sequence[Any]) -> dict[str, Any]:
    """``name``, else ``id``, else ``smiles`` of a ``Data`` or ``Batch``, if all have one and no two the same."""
    for key in ("name", "id", "smiles"):
        names = [name for item in items for name in _listed(getattr(item, key, None), item)]
        if (ids := distinct_ids(names)) is not None:
            return {"graph_ids": ids}
    return {}


def _listed(value: Any, item: Any) -> list[Any]:
    """One name for each graph of the item, None where it has none: a ``Batch`` lists the texts of its graphs."""
    count = getattr(item, "num_graphs", 1) if "ptr" in item else 1
    if isinstance(value, str | int):
        value = [value]
    fits = (
        isinstance(value, list | tuple) and len(value) == count and all(isinstance(name, str | int) for name in value)
    )
    return list(value) if fits else [None] * count
