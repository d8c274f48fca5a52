"""Edge features: what a dataset offers, what a model was trained on, and whether the two fit."""

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
    """How edge features are made, completely.

    Attributes:
        kind: the ``labels`` of edges, or their ``attributes``.
        width: the number of known labels, or of columns of attributes.
        labels: the known values of each label column, sorted (``labels`` only).
    """

    kind: EdgeKind
    width: int
    labels: LabelValues | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"edge features: unknown kind {self.kind!r}; known: {', '.join(KINDS)}")
        if (self.kind == "labels") != (self.labels is not None):
            raise DataError(f"edge features: label values belong to labels and to nothing else, not to {self.kind}")
        if not are_values(self.labels or ()):
            raise DataError("edge features: the values of a label column are not sorted and distinct")
        expected = self.width if self.labels is None else sum(map(len, self.labels))
        if self.width < 1 or self.width != expected:
            raise DataError(f"edge features: width {self.width}, but {self.kind} need {expected}")

    @property
    def shape(self) -> tuple[int, ...] | int:
        """As encoders want to know it: the number of labels in each column, or of columns of attributes."""
        return self.width if self.labels is None else tuple(map(len, self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        labels = None if self.labels is None else [list(column) for column in self.labels]
        return {"kind": self.kind, "width": self.width, "labels": labels}

    @classmethod
    def from_dict(cls, values: Any) -> "EdgeSpec":
        """The inverse of ``to_dict``; anything else is an error."""
        if not isinstance(values, Mapping) or set(values) != {"kind", "width", "labels"}:
            raise DataError("edge features: expected exactly kind, labels, width")
        kind, width = values["kind"], values["width"]
        if not isinstance(kind, str) or not is_int(width):
            raise DataError("edge features: kind or width is of the wrong type")
        return cls(kind, width, read_values(values["labels"]))  # type: ignore[arg-type]


OF_MOLECULES = EdgeSpec("labels", sum(BONDS), tuple(tuple(range(1, count + 1)) for count in BONDS))
"""Those that the graphs of molecules carry already."""


def choose_edges(dataset: Dataset, kind: str = "none") -> EdgeSpec | None:
    """The edge features of a kind for this dataset; ``auto`` takes labels, else attributes, else none."""
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
        raise DataError(f"{dataset.name}: has no edge {kind}; available edge features: {', '.join([*found, 'none'])}")
    if kind == "labels":
        known = distinct_values(found[kind])
        return EdgeSpec("labels", sum(map(len, known)), known)
    return EdgeSpec("attributes", found[kind].shape[1])


def apply_edges(dataset: Dataset, spec: EdgeSpec, unknown: Unknown = "error") -> Tensor:
    """``edge_attr`` of the dataset's graphs: ``[E, C]`` labels, numbered from 1 in each column, or ``[E, D]`` numbers.

    A label that ``spec`` does not know is an ``error``, or the ``zero`` that edges without a label have.
    """
    if dataset.molecules is not None and spec == OF_MOLECULES:
        assert dataset.graphs.edge_attr is not None
        return dataset.graphs.edge_attr
    values = dataset.edge_labels if spec.kind == "labels" else dataset.edge_attributes
    if values is None:
        raise DataError(
            f"{dataset.name}: has no edge {spec.kind}, which these features are made of; "
            f"available edge features: {', '.join([*_available(dataset), 'none'])}"
        )
    if spec.labels is not None:
        ends = partial(_ends_of, dataset)
        return torch.from_numpy(places(values, spec.labels, unknown, dataset=dataset.name, item="edge", name=ends) + 1)
    if values.shape[1] != spec.width:
        raise DataError(
            f"{dataset.name}: has {values.shape[1]} attributes per edge, but these features have {spec.width}"
        )
    return torch.from_numpy(np.array(values, np.float32))  # in memory of its own: a file may be mapped read-only


def _available(dataset: Dataset) -> dict[str, np.ndarray]:
    values = {"labels": dataset.edge_labels, "attributes": dataset.edge_attributes}
    return {kind: found for kind, found in values.items() if found is not None and found.size}


def _ends_of(dataset: Dataset, row: int) -> str:
    """An edge by its nodes, counted over all graphs from 1."""
    source, destination = (dataset.graphs.edge_index[:, row] + 1).tolist()
    return f"the edge from node {source} to node {destination}"
