"""Datasets on disk: a store of graphs, with labels and attributes as extra arrays and the rest as metadata."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmrgcl.data.categories import Categories, are_values
from nmrgcl.data.dataset import Dataset, Label, dataset_of
from nmrgcl.data.ids import LONGEST
from nmrgcl.data.stored_molecules import MOLECULES, molecule_arrays, molecule_notes, read_molecule_rows
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.store import Store, open_store, write_store

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ARRAYS = ("node_labels", "node_attributes", "edge_labels", "edge_attributes", "public_split")
_NOTES = ("name", "self_loops", "duplicate_edges", "one_way_edges", "level")
COUNTS = ("self_loops", "duplicate_edges", "one_way_edges")
_IDS = ("graph_ids", "node_ids")
_SPARSE = "node_attributes"
_PARTS = ("data", "indices", "indptr")
_CATEGORIES = "categories"


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Write a store from which ``open_dataset`` restores the dataset; it appears complete or not at all."""
    given = {name: values for name in _ARRAYS if (values := getattr(dataset, name)) is not None}
    meta: dict[str, Any] = {"classes": list(dataset.classes), **{name: getattr(dataset, name) for name in _NOTES}}
    sparse = dataset.node_attributes
    if sparse is not None and not isinstance(sparse, np.ndarray):
        meta["columns"] = sparse.shape[1]
        given |= {f"{_SPARSE}.{part}": getattr(sparse, part) for part in _PARTS}
        del given[_SPARSE]
    for name in _IDS:
        if (ids := getattr(dataset, name)) is not None:
            given |= {name: ids.data, f"{name}_lengths": ids.lengths}
    if dataset.categories is not None:
        kept = dataset.categories
        given[_CATEGORIES] = kept.codes
        meta[_CATEGORIES] = [[name, list(values)] for name, values in zip(kept.names, kept.values, strict=True)]
    if dataset.molecules is not None:
        given |= molecule_arrays(dataset.molecules)
        meta[MOLECULES] = molecule_notes(dataset.molecules)
    write_store(folder, dataset.graphs, extra=given, meta=meta)


def open_dataset(folder: Path, otherwise: Callable[[], Dataset] | None = None) -> Dataset:
    """Open the dataset in a store; its graphs are read on first use.

    The checksums of labels and attributes are verified now, those of the graphs when they are read. If the graphs are
    damaged, they are taken from the dataset that ``otherwise`` returns.
    """
    store = open_store(folder).check_bytes(extra_only=True)

    def graphs() -> Graphs:
        try:
            return store.check_bytes().graphs()
        except DataError:
            if otherwise is None:
                raise
            return otherwise().graphs

    if "classes" not in store.meta:
        return dataset_of(graphs(), folder.name, str(folder))
    try:
        notes: dict[str, Any] = {name: store.meta[name] for name in _NOTES}
        molecules = read_molecule_rows(store)
        ids = _ids(store)
        categories = _categories(store)
        arrays: dict[str, Any] = _arrays(store)
        if notes["level"] not in ("graph", "node") or not isinstance(notes["name"], str):
            raise ValueError("its level or name is invalid")
        if any(type(notes[name]) is not int or notes[name] < 0 for name in COUNTS):
            raise ValueError("a count is not a non-negative integer")
        classes = _classes(store)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: its metadata does not describe a dataset ({error}); write it again") from None
    return Dataset(
        held=graphs,
        classes=classes,
        **notes,
        **arrays,
        **ids,
        categories=categories,
        source=str(folder),
        sizes=store.counts,
        store=store,
        molecules=molecules,
    )


def _arrays(store: Store) -> "dict[str, np.ndarray | csr_array]":
    """Return the labels and attributes, memory-mapped."""
    elsewhere = (MOLECULES, *_IDS, _CATEGORIES)
    found = {name: values for name, values in store.extra.items() if not name.startswith(elsewhere)}
    arrays: dict[str, Any] = {name: found.pop(name) for name in _ARRAYS if name in found}
    if found:
        from scipy.sparse import csr_array  # takes long to import, and few datasets need it

        data, indices, indptr = (found.pop(f"{_SPARSE}.{part}") for part in _PARTS)
        columns = int(store.meta["columns"])
        matrix = csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), (len(indptr) - 1, columns))
        # The indices come from a file and may point outside of the matrix.
        matrix.check_format()
        arrays[_SPARSE] = matrix
    _, nodes, edges = store.counts
    for name, values in arrays.items():
        dimensions, kind = (1, "iu") if name == "public_split" else (2, "iu" if name.endswith("labels") else "f")
        rows = edges if name.startswith("edge") else nodes
        # Arrays that are left in `found` belong to no field of a dataset.
        if found or values.ndim != dimensions or values.shape[0] != rows or values.dtype.kind not in kind:
            raise ValueError("an array does not match the graphs")
    return arrays


def _ids(store: Store) -> dict[str, Any]:
    """Return the ids of graphs and nodes, if there are any."""
    counts = dict(zip(_IDS, store.counts, strict=False))
    ids = {name: Texts(store.extra[name], store.extra[f"{name}_lengths"]) for name in _IDS if name in store.extra}
    for name, texts in ids.items():
        # Lengths are in bytes, of which a character takes up to four.
        if len(texts) != counts[name] or (len(texts) and int(texts.lengths.max()) > 4 * LONGEST):
            raise ValueError("its ids do not match the graphs")
    return ids


def _categories(store: Store) -> Categories | None:
    """Return the categorical attributes, whose codes must index into their values."""
    codes = store.extra.get(_CATEGORIES)
    if codes is None:
        return None
    names, values = zip(*store.meta[_CATEGORIES], strict=True)
    if not all(isinstance(name, str) for name in names) or not all(not v or are_values(v) for v in values):
        raise ValueError("its categories are not names with values")
    if codes.dtype.kind not in "iu" or codes.shape != (store.counts[1], len(names)):
        raise ValueError("its categories do not match the graphs")
    if codes.size and ((codes.min(0) < -1) | (codes.max(0) >= np.array([len(v) for v in values]))).any():
        raise ValueError("a category is not among its values")
    return Categories(tuple(names), tuple(map(tuple, values)), codes.astype(np.int64))


def _classes(store: Store) -> tuple[Label, ...]:
    """Return the original labels, into which ``y`` must index."""
    classes, y = store.meta["classes"], store.arrays.get("y")
    alike = len({type(label) for label in classes}) <= 1
    if not isinstance(classes, list) or not alike or not all(_is_label(label) for label in classes):
        raise ValueError("its classes are not labels")
    if (
        y is not None
        and y.size
        and (y.ndim != 1 or y.dtype.kind not in "iu" or not -1 <= y.min() <= y.max() < len(classes))
    ):
        raise ValueError("a label is not among its classes")
    return tuple(classes)


def _is_label(label: Any) -> bool:
    return label.isprintable() if isinstance(label, str) else type(label) is int and -(2**63) <= label < 2**63
