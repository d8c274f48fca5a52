"""SMILES, labels and names of molecules as extra arrays and metadata of a store."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nmrgcl.data.molecule_rows import Invalid, MoleculeRows
from nmrgcl.data.molecules.vocabulary import ATOMS, BONDS, CHIRALITIES
from nmrgcl.data.texts import Texts
from nmrgcl.store import Store

MOLECULES = "molecules"
"""The key of the metadata, and the prefix of the array names."""
_SMILES, _NAMES = f"{MOLECULES}.smiles", f"{MOLECULES}.names"
LINES, _TARGETS = f"{MOLECULES}.line_steps", f"{MOLECULES}.targets"
SCAFFOLDS = f"{MOLECULES}.scaffolds"


def dataset_meta(name: str, classes: Sequence[int]) -> dict[str, Any]:
    """Return the metadata that ``open_dataset`` expects of any dataset, for molecules."""
    unchanged = dict.fromkeys(("self_loops", "duplicate_edges", "one_way_edges"), 0)
    return {"name": name, "level": "graph", "classes": list(classes), **unchanged}


def molecule_arrays(rows: MoleculeRows) -> dict[str, np.ndarray]:
    """Return texts as bytes and lengths, line numbers as differences, and small integer labels as bytes."""
    texts = {_SMILES: rows.smiles} | ({} if rows.names is None else {_NAMES: rows.names})
    return {
        **{key: values.data for key, values in texts.items()},
        **{f"{key}_lengths": values.lengths for key, values in texts.items()},
        LINES: np.diff(rows.lines, prepend=0),  # Mostly 1, which fits into a byte.
        _TARGETS: _packed(rows.targets),
        **({} if rows.scaffolds is None else {SCAFFOLDS: rows.scaffolds}),
    }


def molecule_notes(rows: MoleculeRows) -> dict[str, Any]:
    """Return the metadata as plain values."""
    return {"tasks": list(rows.tasks), "rows": rows.rows, "invalid": [list(one) for one in rows.invalid]}


def read_molecule_rows(store: Store) -> MoleculeRows | None:
    """Read what ``molecule_arrays`` and ``molecule_notes`` returned.

    Raises ValueError, KeyError or TypeError if the store contains anything else.
    """
    if MOLECULES not in store.meta:
        return None
    notes, count = store.meta[MOLECULES], len(store)
    tasks, read, invalid = notes["tasks"], notes["rows"], [Invalid(*one) for one in notes["invalid"]]
    if not all(isinstance(name, str) for name in tasks) or type(read) is not int or read < count:
        raise ValueError("its tasks or rows are invalid")
    if any([type(value) for value in one] != [int, str, str] for one in invalid):
        raise ValueError("its list of invalid rows is malformed")
    bonds, atoms = store.arrays["edge_attr"], store.arrays["x"]
    if store.num_features != ATOMS + CHIRALITIES or atoms.dtype.kind == "f" or atoms.shape[1] != 2:
        raise ValueError("its atoms are not those of molecules")
    if bonds.ndim != 2 or bonds.shape[1] != len(BONDS) or bonds.dtype.kind not in "iu":
        raise ValueError("its bonds are not those of molecules")
    steps, targets = store.extra[LINES], store.extra[_TARGETS]
    smiles, names = (
        Texts(store.extra[key], store.extra[f"{key}_lengths"]) if key in store.extra else None
        for key in (_SMILES, _NAMES)
    )
    if steps.dtype.kind not in "iu" or targets.dtype.kind not in "iuf":
        raise ValueError("lines or labels are not numbers")
    if smiles is None or targets.shape != (count, len(tasks)) or steps.shape != (count,) or len(smiles) != count:
        raise ValueError("the numbers of molecules and graphs differ")
    if names is not None and len(names) != count:
        raise ValueError("the numbers of names and graphs differ")
    scaffolds = store.extra.get(SCAFFOLDS)
    if scaffolds is not None and (scaffolds.dtype.kind not in "iu" or scaffolds.shape != (count,)):
        raise ValueError("there is not one scaffold per molecule")
    lines = np.cumsum(steps, dtype=np.int64)
    return MoleculeRows(smiles, lines, _unpacked(targets), tuple(tasks), names, read, tuple(invalid), scaffolds)


def _packed(targets: np.ndarray) -> np.ndarray:
    """Store integers below 127 as bytes, with -1 for missing labels; keep other labels unchanged."""
    missing = np.isnan(targets)
    known = targets[~missing]
    if not bool(((known >= 0) & (known < 127) & (known == np.round(known))).all()):
        return targets
    return np.where(missing, -1, np.nan_to_num(targets)).astype(np.int8)


def _unpacked(targets: np.ndarray) -> np.ndarray:
    if targets.dtype.kind == "f":
        return targets.astype(np.float32, copy=False)
    return np.where(targets < 0, np.nan, targets).astype(np.float32)
