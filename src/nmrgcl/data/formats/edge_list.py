"""Edge lists as CSV: ``edges.csv`` and optionally ``nodes.csv`` and ``graphs.csv``, each with a header line.

- edges: ``source``, ``target``; optional ``graph`` (otherwise all rows belong to one graph), ``weight`` (positive) and
  ``label`` (integer). Other columns with numbers are edge features; columns with text are left out with a note.
- nodes: ``node``, and ``graph`` if the edges have it; optional ``label`` (integers, or text as categories) and ``y``
  (the class of the node, if there is only one graph). Other columns are node features: numbers, or categories if they
  contain only text. If the file exists, it must list every node.
- graphs: ``graph``; optional ``y``, the class of the graph. A graph that occurs only here has no nodes; a graph that
  is not listed has no class.

An empty ``y`` is a missing class. ``src``/``dst``, ``from``/``to``, ``graph_id`` and ``node_id`` are accepted as column
names; case is ignored. Files are UTF-8, separated by commas, with the usual quoting.

Identifiers are integers if all of them are, else text. Graphs are numbered in order of appearance in graphs, nodes and
edges; the nodes of a graph in order of appearance in nodes, else in edges.

Each row is an undirected edge unless directions are kept. If both directions are listed, the first row of each gives
its label and attributes. Repeated rows are merged and their weights added; self-loops are removed; both are counted.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.categories import categories_of
from nmrgcl.data.chosen import ALL, Chosen
from nmrgcl.data.dataset import Dataset, Label, Level
from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.classes import first_unlike, shown, text_integer, text_label
from nmrgcl.data.formats.edge_table import EdgeTable, is_text, read_edge_table
from nmrgcl.data.formats.numbering import Numbered, number
from nmrgcl.data.formats.text import open_text, stem
from nmrgcl.data.ids import as_ids
from nmrgcl.errors import DataError

NamedStream = tuple[Readable, str]
"""A stream of bytes, and its name for messages."""


def read_edge_list(
    edges: Path,
    *,
    nodes: Path | None = None,
    labels: Path | None = None,
    name: str | None = None,
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """Read a file of edges, or a folder with ``edges.csv``; ``labels`` is the file of graphs."""
    folder = edges if edges.is_dir() else None
    if folder is not None:
        nodes, labels = (
            given or (folder / file if (folder / file).exists() else None)
            for given, file in ((nodes, "nodes.csv"), (labels, "graphs.csv"))
        )
    with ExitStack() as stack:
        about_edges, about_nodes, about_graphs = (
            None if path is None else (stack.enter_context(open_text(Path(path))), str(path))
            for path in (edges if folder is None else folder / "edges.csv", nodes, labels)
        )
        assert about_edges is not None
        return read_edge_list_streams(
            about_edges,
            about_nodes,
            about_graphs,
            name=name or stem(edges),
            keep_directions=keep_directions,
            chosen=chosen,
        )


def read_edge_list_streams(
    edges: NamedStream,
    nodes: NamedStream | None = None,
    graphs: NamedStream | None = None,
    *,
    name: str = "graphs",
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """Read an edge list from streams of bytes."""
    listed = read_edge_table(*graphs, {"graph", "y"}, ("graph",), closed=True) if graphs else None
    about = read_edge_table(*nodes, {"graph", "node", "label", "y"}, ("node",)) if nodes else None
    pairs = read_edge_table(*edges, {"graph", "source", "target", "label"}, ("source", "target"))
    _check_columns(pairs, about, listed)
    numbered = number(pairs, about, listed)
    if not numbered.sizes.any() and (listed is None or not listed.rows):
        raise DataError(f"{pairs.file}, line 2: there are no edges, and no other file lists nodes or graphs")
    level, y = _classes(about, listed, numbered)
    weight = pairs.weight(chosen.edge_weight)
    edge_labels, edge_kinds = _labels(pairs)
    pairs = pairs.choose(chosen.edge_feature, chosen.edge_weight or "weight")
    node_labels, node_attributes, node_kinds = None, None, dict[str, list[Any]]()
    if about is not None:
        if chosen.node_feature is None or "label" in chosen.node_feature:
            node_labels, node_kinds = _labels(about)
        about = about.choose(chosen.node_feature)
        node_kinds |= about.words
        if chosen.categorical:
            about, whole = _without_whole(about)
            node_kinds |= whole
        node_attributes = about.attributes()
    categories = categories_of(node_kinds)
    order = numbered.order
    listing = Listing(
        numbered.sizes,
        numbered.ends[:, 0],
        numbered.ends[:, 1],
        edge_weight=weight,
        edge_labels=edge_labels,
        edge_attributes=pairs.attributes(),
        node_labels=None if node_labels is None else node_labels[order],
        node_attributes=None if node_attributes is None else node_attributes[order],
        categories=categories if categories is None or order is None else categories.take(order),
        y=y,
        level=level,
        graph_ids=None if numbered.graph_ids is None else as_ids(numbered.graph_ids),
        node_ids=None if numbered.node_ids is None else as_ids(numbered.node_ids),
        left_out=tuple(f"text column {shown(name)} of edges left out" for name in (*edge_kinds, *pairs.words)),
    )
    return assemble(listing, name, pairs.file, keep_directions=keep_directions)


def _check_columns(pairs: EdgeTable, about: EdgeTable | None, listed: EdgeTable | None) -> None:
    """Require a ``graph`` column in all files or none, and classes of either nodes or graphs."""
    tables = [table for table in (pairs, about, listed) if table is not None]
    without = [table.file for table in tables if "graph" not in table.texts]
    if without and len(without) < len(tables):
        other = next(table.file for table in tables if "graph" in table.texts)
        raise DataError(f"{without[0]}, line 1: no column is named graph, but {other} has one; add it here too")
    if about is not None and listed is not None and "y" in about.texts and "y" in listed.texts:
        raise DataError(
            f"{about.file}, line 1: y is given for nodes and, in {listed.file}, for graphs; keep one of them"
        )


def _labels(table: EdgeTable) -> tuple[np.ndarray | None, dict[str, list[Any]]]:
    """Return the ``[rows, 1]`` integers of the column ``label``, or its text as a category."""
    if "label" in table.texts and is_text(table.texts["label"].unique().to_pylist()):
        return None, {"label": [cell or None for cell in table.texts["label"].to_pylist()]}
    labels = table.converted("label", text_integer)
    return None if labels is None else np.array(labels, np.int64)[:, None], {}


def _without_whole(table: EdgeTable) -> tuple[EdgeTable, dict[str, list[Any]]]:
    """Split off the columns that contain only integers."""
    whole = {name: values for name, values in table.numbers.items() if (values == np.rint(values)).all()}
    rest = {name: values for name, values in table.numbers.items() if name not in whole}
    return replace(table, numbers=rest), {name: values.astype(np.int64).tolist() for name, values in whole.items()}


def _classes(
    about: EdgeTable | None, listed: EdgeTable | None, numbered: Numbered
) -> tuple[Level, list[Label | None] | None]:
    """Return the classes of nodes or graphs; an empty cell is a missing class."""
    count = len(numbered.sizes)
    if about is not None and "y" in about.texts:
        if count != 1:
            raise DataError(
                f"{about.file}, line 1: nodes can have a class y only in a single graph, but there are {count}; "
                "put the classes of graphs into graphs.csv"
            )
        return "node", _alike(about)
    if listed is None:
        return "graph", None
    _, first = np.unique(numbered.listed, return_index=True)
    for row in np.setdiff1d(np.arange(listed.rows), first)[:1].tolist():
        raise listed.refusal(row, "this graph is listed twice; keep one row")
    if "y" not in listed.texts:
        return "graph", None
    y: list[Label | None] = [None] * count
    for code, label in zip(numbered.listed.tolist(), _alike(listed), strict=True):
        y[code] = label
    return "graph", y


def _alike(table: EdgeTable) -> list[Label | None]:
    labels = table.converted("y", text_label) or []
    if (at := first_unlike(labels)) is not None:
        before = "numbers" if isinstance(labels[at], str) else "text"
        raise table.refusal(at, f"y: {shown(labels[at])} after {before}; use one kind")
    return labels
