"""Edge lists as CSV: ``edges.csv``, and where wanted ``nodes.csv`` and ``graphs.csv``, with a header line each.

- edges: ``source``, ``target``; optional ``graph`` (else all rows are one graph), ``weight`` (positive), ``label``
  (integer); any other column with numbers describes the edge, one with text is left out, which is noted.
- nodes: ``node``, and ``graph`` if the edges have it; optional ``label`` (integers, or text: a category), ``y`` (the
  class of the node; one graph only); any other column describes the node, by numbers or, where no cell is a number, by
  text, which is a category. If the file is there, it lists every node.
- graphs: ``graph``; optional ``y``, the class of the graph. One that is listed here alone has no nodes, one that is
  not listed has no class.

An empty cell of ``y`` is a missing class. ``src``/``dst`` and ``from``/``to`` are also understood, as are ``graph_id``
and ``node_id``; capitals do not matter. Text is UTF-8, separated by commas, quoted as usual in CSV.

Graphs and nodes are identified by integers or, if one identifier is none, by text. Graphs are numbered as they are
first met in graphs, else nodes, else edges; the nodes of a graph as they are first met in nodes, else edges.

A row is the edge between its ends, in both directions unless directions are kept; with both listed, the first row of
each direction gives its label and attributes. Rows that repeat an edge are one edge whose weights add up, and
self-loops are left out; both are counted.
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
"""The bytes of a file, and what messages call it."""


def read_edge_list(
    edges: Path,
    *,
    nodes: Path | None = None,
    labels: Path | None = None,
    name: str | None = None,
    keep_directions: bool = False,
    chosen: Chosen = ALL,
) -> Dataset:
    """The graphs of a file of edges, or of a folder with ``edges.csv``; ``labels`` is the file about graphs."""
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
            name=name or (stem(edges) if folder is None else folder.absolute().name),
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
    """The same from streams of bytes."""
    listed = read_edge_table(*graphs, {"graph", "y"}, ("graph",), closed=True) if graphs else None
    about = read_edge_table(*nodes, {"graph", "node", "label", "y"}, ("node",)) if nodes else None
    pairs = read_edge_table(*edges, {"graph", "source", "target", "label"}, ("source", "target"))
    _check_columns(pairs, about, listed)
    numbered = number(pairs, about, listed)
    if not numbered.sizes.any() and (listed is None or not listed.rows):
        raise DataError(f"{pairs.file}, line 2: no edge is listed, and no other file lists a node or a graph")
    level, y = _classes(about, listed, numbered)
    weight = pairs.weight(chosen.edge_weight)
    edge_labels, edge_kinds = _labels(pairs)
    pairs = pairs.choose(chosen.edge_feature, chosen.edge_weight or "weight")
    node_labels, node_kinds = (None, {}) if about is None else _labels(about)
    if about is not None:
        about = about.choose(chosen.node_feature)
        node_labels, node_kinds = _chosen_labels(node_labels, node_kinds, chosen)
        node_kinds |= about.words
        if chosen.categorical:
            about, whole = _without_whole(about)
            node_kinds |= whole
    node_attributes = None if about is None else about.attributes()
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
        left_out=tuple(f"the text in column {shown(name)} of edges left out" for name in (*edge_kinds, *pairs.words)),
    )
    return assemble(listing, name, pairs.file, keep_directions=keep_directions)


def _check_columns(pairs: EdgeTable, about: EdgeTable | None, listed: EdgeTable | None) -> None:
    """All files speak of one graph, or all say of which."""
    tables = [table for table in (pairs, about, listed) if table is not None]
    without = [table.file for table in tables if "graph" not in table.texts]
    if without and len(without) < len(tables):
        other = next(table.file for table in tables if "graph" in table.texts)
        raise DataError(f"{without[0]}, line 1: no column is named graph, but {other} has it; add it here too")
    if about is not None and listed is not None and "y" in about.texts and "y" in listed.texts:
        raise DataError(f"{about.file}, line 1: has classes of nodes, and {listed.file} those of graphs; keep one y")


def _labels(table: EdgeTable) -> tuple[np.ndarray | None, dict[str, list[Any]]]:
    """``[rows, 1]`` the integers of the column of that name; or the text in it, by its name."""
    if "label" in table.texts and is_text(table.texts["label"].unique().to_pylist()):
        return None, {"label": [cell or None for cell in table.texts["label"].to_pylist()]}
    labels = table.converted("label", text_integer)
    return None if labels is None else np.array(labels, np.int64)[:, None], {}


def _chosen_labels(
    labels: np.ndarray | None, kinds: dict[str, list[Any]], chosen: Chosen
) -> tuple[np.ndarray | None, dict[str, list[Any]]]:
    if chosen.node_feature is None or "label" in chosen.node_feature:
        return labels, kinds
    return None, {}


def _without_whole(table: EdgeTable) -> tuple[EdgeTable, dict[str, list[Any]]]:
    """The table without the columns that are whole numbers, and those."""
    whole = {name: values for name, values in table.numbers.items() if (values == np.rint(values)).all()}
    rest = {name: values for name, values in table.numbers.items() if name not in whole}
    return replace(table, numbers=rest), {name: values.astype(np.int64).tolist() for name, values in whole.items()}


def _classes(
    about: EdgeTable | None, listed: EdgeTable | None, numbered: Numbered
) -> tuple[Level, list[Label | None] | None]:
    """The classes of nodes or graphs; an empty cell is a missing one."""
    count = len(numbered.sizes)
    if about is not None and "y" in about.texts:
        if count != 1:
            raise DataError(
                f"{about.file}, line 1: column y, but there are {count} graphs; classes of nodes need a single graph, "
                "those of graphs belong into graphs.csv"
            )
        return "node", _alike(about)
    if listed is None:
        return "graph", None
    _, first = np.unique(numbered.listed, return_index=True)
    for row in np.setdiff1d(np.arange(listed.rows), first)[:1].tolist():
        raise listed.refusal(row, "the graph is listed twice; keep one row")
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
        raise table.refusal(at, f"y: {shown(labels[at])} after {before}; write all in one way")
    return labels
