"""Edge features: choose them for a dataset, record the choice, and apply it to other datasets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.label_values import LabelValues, Unknown, are_values, distinct_values, is_int, places, read_values
from nmrgcl.data.molecules.vocabulary import BONDS
from nmrgcl.errors import DataError

EdgeKind = Literal["labels", "attributes"]
KINDS: tuple[str, ...] = get_args(EdgeKind)


@dataclass(frozen=True)
class EdgeSpec:
    """A complete description of the edge features that a model was trained on.

    Attributes:
        kind: edge ``labels`` or ``attributes``.
        width: the number of known labels, or of attribute columns.
        labels: the known values of each label column, sorted (``labels`` only).
    """

    kind: EdgeKind
    width: int
    labels: LabelValues | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"edge features: unknown kind {self.kind!r}; known: {', '.join(KINDS)}")
        if (self.kind == "labels") != (self.labels is not None):
            raise DataError(f"edge features: label values are for labels only, not for {self.kind}")
        if not are_values(self.labels or ()):
            raise DataError("edge features: the values of a label column must be sorted and distinct")
        expected = self.width if self.labels is None else sum(map(len, self.labels))
        if self.width < 1 or self.width != expected:
            raise DataError(f"edge features: width {self.width}, but {self.kind} need {expected}")

    @property
    def shape(self) -> tuple[int, ...] | int:
        """The number of labels in each column, or the number of attribute columns, as encoders expect it."""
        return self.width if self.labels is None else tuple(map(len, self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        labels = None if self.labels is None else [list(column) for column in self.labels]
        return {"kind": self.kind, "width": self.width, "labels": labels}

    @classmethod
    def from_dict(cls, values: Any) -> "EdgeSpec":
        """Read what ``to_dict`` returned; raise DataError for anything else."""
        if not isinstance(values, Mapping) or set(values) != {"kind", "width", "labels"}:
            raise DataError("edge features: expected exactly kind, labels, width")
        kind, width = values["kind"], values["width"]
        if not isinstance(kind, str) or not is_int(width):
            raise DataError("edge features: kind or width has the wrong type")
        return cls(kind, width, read_values(values["labels"]))  # type: ignore[arg-type]


OF_MOLECULES = EdgeSpec("labels", sum(BONDS), tuple(tuple(range(1, count + 1)) for count in BONDS))
"""The bond features that graphs of molecules already carry."""


def choose_edges(dataset: Dataset, kind: str = "none") -> EdgeSpec | None:
    """Choose the edge features of a dataset; ``auto`` takes labels, else attributes, else none."""
    found = _available(dataset)
    if dataset.molecules is not None and kind in ("auto", "labels"):
        return OF_MOLECULES
    if kind == "auto":
        kind = next(iter(found), "none")
    if kind not in ("none", *KINDS):
        raise DataError(f"edge features: unknown kind {kind!r}; known: auto, {', '.join(KINDS)}, none")
    if kind == "none":
        return None
    if kind not in found:
        available = ", ".join([*found, "none"])
        raise DataError(f"{dataset.name}: there are no edge {kind}; available edge features: {available}")
    if kind == "labels":
        known = distinct_values(found[kind])
        return EdgeSpec("labels", sum(map(len, known)), known)
    return EdgeSpec("attributes", found[kind].shape[1])


def apply_edges(dataset: Dataset, spec: EdgeSpec, unknown: Unknown = "error") -> Tensor:
    """Return ``edge_attr``: ``[E, C]`` labels, numbered from 1 in each column, or ``[E, D]`` attributes.

    An unknown label is an ``error`` or, with ``zero``, the 0 that stands for edges without a label.
    """
    if dataset.molecules is not None and spec == OF_MOLECULES:
        bonds = dataset.graphs.edge_attr
        if bonds is None or (bonds.numel() and not bool(((bonds >= 0) & (bonds <= torch.tensor(BONDS))).all())):
            raise DataError(f"{dataset.name}: there is a bond of unknown type; write the store again")
        return bonds
    values = dataset.edge_labels if spec.kind == "labels" else dataset.edge_attributes
    if values is None:
        raise DataError(
            f"{dataset.name}: these features need edge {spec.kind}; "
            f"available edge features: {', '.join([*_available(dataset), 'none'])}"
        )
    if spec.labels is not None:
        ends = partial(_ends_of, dataset)
        return torch.from_numpy(places(values, spec.labels, unknown, dataset=dataset.name, item="edge", name=ends) + 1)
    if values.shape[1] != spec.width:
        raise DataError(
            f"{dataset.name}: there are {values.shape[1]} attributes per edge, but these features need {spec.width}"
        )
    return torch.from_numpy(np.array(values, np.float32))  # a copy, because a file may be mapped read-only


def _available(dataset: Dataset) -> dict[str, np.ndarray]:
    values = {"labels": dataset.edge_labels, "attributes": dataset.edge_attributes}
    return {kind: found for kind, found in values.items() if found is not None and found.size}


def _ends_of(dataset: Dataset, row: int) -> str:
    """Describe an edge by its nodes, numbered from 1 over all graphs."""
    source, destination = (dataset.graphs.edge_index[:, row] + 1).tolist()
    return f"the edge from node {source} to node {destination}"
