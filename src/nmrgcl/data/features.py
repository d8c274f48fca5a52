"""Node features: choose them for a dataset, record the choice, and apply it to other datasets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from nmrgcl.data.categories import Vocabulary, choose_vocabulary, one_hot_columns, read_vocabulary
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.edge_features import EdgeSpec, apply_edges, choose_edges
from nmrgcl.data.label_values import LabelValues, Unknown, are_values, distinct_values, is_int, places, read_values
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.settings.schema import DataSettings
from nmrgcl.sparse_rows import entry_rows, is_sparse, sparse_rows, with_values

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FeatureKind = Literal["labels", "attributes", "constant", "degree", "molecules"]
Scale = Literal["none", "rows"]
SCALES: tuple[str, ...] = get_args(Scale)
KINDS: tuple[str, ...] = get_args(FeatureKind)
SPARSE_SHARE = 0.05
"""A feature matrix with a smaller share of non-zero entries stays sparse; above it, dense is as fast."""


@dataclass(frozen=True)
class FeatureSpec:
    """A complete description of the features that a model was trained on.

    Attributes:
        kind: ``labels`` and ``degree`` are one-hot encoded, ``attributes`` are used as they are, ``constant`` is 1, and
            ``molecules`` are the atom features of Hu et al.
        width: number of feature columns.
        max_degree: higher degrees share the last column (``degree`` only).
        labels: the known values of each label column, sorted (``labels`` only).
        scale: ``rows`` scales the absolute attributes of each node to sum to one (``attributes`` only).
        edges: the edge features; None if there are none.
        categories: categorical attributes, one-hot encoded after the numeric ones (``attributes`` only).
    """

    kind: FeatureKind
    width: int
    max_degree: int | None = None
    labels: LabelValues | None = None
    scale: Scale = "none"
    edges: EdgeSpec | None = None
    categories: Vocabulary = ()

    def __post_init__(self) -> None:
        expected: dict[str, Any] = {
            "molecules": ATOMS + CHIRALITIES,
            "labels": sum(map(len, self.labels or ())),
            "attributes": max(self.width, self.one_hot),  # Any width with room for the one-hot columns.
            "constant": 1,
            "degree": max(self.max_degree or 0, 1) + 1,
        }
        if self.kind not in KINDS:
            raise DataError(f"features: unknown kind {self.kind!r}; known: {', '.join(KINDS)}")
        if (self.kind == "labels") != (self.labels is not None):
            raise DataError(f"features: label values are for labels only, not for {self.kind}")
        if (self.kind == "degree") != (self.max_degree is not None):
            raise DataError(f"features: max_degree is for degree only, not for {self.kind}")
        if self.scale not in SCALES or (self.scale != "none" and self.kind != "attributes"):
            raise DataError(f"features: scale {self.scale!r} with {self.kind}; known: none, and rows for attributes")
        if self.categories and self.kind != "attributes":
            raise DataError(f"features: categories are for attributes only, not for {self.kind}")
        if not are_values(self.labels or ()):
            raise DataError("features: the values of a label column must be sorted and distinct")
        if self.width < 1 or self.width != expected[self.kind]:
            raise DataError(f"features: width {self.width}, but {self.kind} need {expected[self.kind]}")

    @property
    def one_hot(self) -> int:
        """The number of one-hot columns for categories."""
        return sum(len(values) for _, values in self.categories)

    @property
    def edge_shape(self) -> tuple[int, ...] | int | None:
        """The shape of the edge features, as encoders expect it."""
        return None if self.edges is None else self.edges.shape

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; fields that the first version did not have are omitted if unused."""
        values = asdict(self)
        if self.labels is not None:
            values["labels"] = [list(column) for column in self.labels]
        if self.scale == "none":
            del values["scale"]
        del values["categories"]
        if self.categories:
            values["categories"] = [[name, list(known)] for name, known in self.categories]
        if self.edges is None:
            del values["edges"]
        else:
            values["edges"] = self.edges.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Any) -> "FeatureSpec":
        """Read what ``to_dict`` returned; raise DataError for anything else."""
        optional = {"scale", "edges", "categories"}
        known = {f.name for f in fields(cls)} - optional
        if not isinstance(values, Mapping) or set(values) - optional != known:
            raise DataError(f"features: expected exactly {', '.join(sorted(known))}")
        kind, width, max_degree = (values[name] for name in ("kind", "width", "max_degree"))
        scale = values.get("scale", "none")
        if not isinstance(scale, str):
            raise DataError("features: scale has the wrong type")
        if not isinstance(kind, str) or not is_int(width) or not (max_degree is None or is_int(max_degree)):
            raise DataError("features: kind, width or max_degree has the wrong type")
        edges = EdgeSpec.from_dict(values["edges"]) if "edges" in values else None
        categories = read_vocabulary(values.get("categories", []))
        return cls(kind, width, max_degree, read_values(values["labels"]), scale, edges, categories)  # type: ignore[arg-type]


def choose_features(
    dataset: Dataset, kind: str = "auto", max_degree: int = 32, scale: Scale = "none", edges: str = "none"
) -> FeatureSpec:
    """Choose the node features of a dataset; ``auto`` takes labels, else attributes, else degrees.

    Text attributes become one-hot columns after the numeric ones. ``auto`` ignores a single attribute that is the same
    for all nodes. Molecules always use atom types and chirality, numbered as by Hu et al., so that a model trained on
    one file can embed any other.

    ``scale`` applies to attributes only. ``edges`` is the kind of edge features.

    Example:
        >>> from nmrgcl import choose_features, load
        >>> choose_features(load("MUTAG")).kind, choose_features(load("MUTAG"), "degree").kind
        ('labels', 'degree')
    """
    available = _available(dataset)
    known: Vocabulary = ()
    if kind == "attributes" or (kind == "auto" and not {"molecules", "labels"} & set(available)):
        # Only where attributes may be used, because this can print a note about them.
        known = choose_vocabulary(dataset.categories, dataset.name)
        if not known and (dataset.node_attributes is None or (kind == "auto" and _is_constant(dataset))):
            available = [k for k in available if k != "attributes"]
    if kind == "auto":
        kind = next(k for k in ("molecules", "labels", "attributes", "degree") if k in available)
    if kind not in KINDS:
        raise DataError(f"features: unknown kind {kind!r}; known: auto, {', '.join(KINDS)}")
    if kind not in available:
        raise DataError(f"{dataset.name}: there are no node {kind}; available features: {', '.join(available)}")
    of_edges = choose_edges(dataset, edges)
    if kind == "labels":
        assert dataset.node_labels is not None
        columns = distinct_values(dataset.node_labels)
        return FeatureSpec("labels", sum(map(len, columns)), labels=columns, edges=of_edges)
    if kind == "attributes":
        width = _numbers(dataset) + sum(len(values) for _, values in known)
        return FeatureSpec("attributes", width, scale=scale, edges=of_edges, categories=known)
    if kind == "molecules":
        return FeatureSpec("molecules", ATOMS + CHIRALITIES, edges=of_edges)
    if kind == "constant":
        return FeatureSpec("constant", 1, edges=of_edges)
    if max_degree < 1:
        raise DataError(f"features: max_degree is {max_degree}; it must be at least 1")
    return FeatureSpec("degree", max_degree + 1, max_degree=max_degree, edges=of_edges)


def features_for(dataset: Dataset, options: DataSettings) -> FeatureSpec:
    """Choose the features of a dataset as the settings say."""
    return choose_features(dataset, options.features, options.max_degree, options.scale, options.edges)


def with_features(data: Dataset | Graphs) -> Graphs:
    """Return the graphs of a dataset with its default features; ``Graphs`` are returned unchanged."""
    return data if isinstance(data, Graphs) else apply_features(data, choose_features(data))


def apply_features(dataset: Dataset, spec: FeatureSpec, *, unknown: Unknown = "error", quiet: bool = False) -> Graphs:
    """Return the dataset's graphs with the features that ``spec`` describes.

    An unknown label is an ``error`` or, with ``zero``, a row of zeros. An unknown category is always encoded as zeros,
    with a warning unless ``quiet``. If ``spec`` has no edge features, the graphs keep their own.

    Example:
        >>> from nmrgcl import apply_features, choose_features, load
        >>> mutag = load("MUTAG")
        >>> apply_features(mutag, choose_features(mutag)).num_features  # one column per label
        7
    """
    graphs = dataset.graphs
    if spec.kind == "molecules" and dataset.molecules is None:
        raise DataError(f"{dataset.name}: these features need molecules; pass SMILES")
    if spec.kind not in _available(dataset):
        raise DataError(
            f"{dataset.name}: these features need node {spec.kind}; available: {', '.join(_available(dataset))}"
        )
    if spec.labels is not None:
        x = torch.from_numpy(_label_columns(dataset, spec.labels, unknown))
    elif spec.kind == "molecules":
        x = graphs.x
    elif spec.kind == "attributes":
        x = _attributes(dataset, spec, quiet)
    elif spec.max_degree is not None:
        x = graphs.row_ptr.diff().clamp(max=spec.max_degree).unsqueeze(1)
    else:
        x = torch.zeros(graphs.num_nodes, 1, dtype=torch.long)
    edge_attr = graphs.edge_attr if spec.edges is None else apply_edges(dataset, spec.edges, unknown)
    return replace(graphs, x=x, num_features=spec.width, edge_attr=edge_attr)


def _available(dataset: Dataset) -> list[str]:
    missing = {
        "molecules": dataset.molecules is None,
        "labels": dataset.node_labels is None,
        "attributes": dataset.node_attributes is None and dataset.categories is None,
    }
    return [kind for kind in KINDS if not missing.get(kind)]


def _numbers(dataset: Dataset) -> int:
    return 0 if dataset.node_attributes is None else int(dataset.node_attributes.shape[1])


def _is_constant(dataset: Dataset) -> bool:
    """Return True if there is a single attribute, and it is the same for all nodes."""
    values = dataset.node_attributes
    return isinstance(values, np.ndarray) and values.shape[1] == 1 and bool((values == values[:1]).all())


def _attributes(dataset: Dataset, spec: FeatureSpec, quiet: bool) -> torch.Tensor:
    """Return ``[N, F]`` numbers followed by one-hot columns; without numbers, the indices of the one-hot columns."""
    if _numbers(dataset) != spec.width - spec.one_hot:
        raise DataError(
            f"{dataset.name}: there are {_numbers(dataset)} attributes per node, "
            f"but these features need {spec.width - spec.one_hot}"
        )
    columns = None
    if spec.categories:
        columns = torch.from_numpy(one_hot_columns(dataset.categories, spec.categories, dataset.name, quiet=quiet))
    if dataset.node_attributes is None:
        assert columns is not None
        return columns
    x = _matrix(dataset.node_attributes)
    if spec.scale == "rows":
        x = _rows_to_one(x)
    if columns is None:
        return x
    one_hot = torch.zeros(len(columns), spec.one_hot + 1)  # the last column is for unknown values
    one_hot.scatter_(1, columns.remainder(spec.one_hot + 1), 1.0)
    return torch.cat([x.to_dense() if is_sparse(x) else x, one_hot[:, :-1]], 1)


def _matrix(attributes: "np.ndarray | csr_array") -> torch.Tensor:
    """Copy attributes to a tensor, because they may be mapped read-only from a file."""
    if isinstance(attributes, np.ndarray):
        return torch.from_numpy(np.array(attributes, np.float32))
    if attributes.nnz >= SPARSE_SHARE * attributes.shape[0] * attributes.shape[1]:
        return torch.from_numpy(attributes.toarray().astype(np.float32, copy=False))
    ptr, column = (torch.from_numpy(part.astype(np.int64)) for part in (attributes.indptr, attributes.indices))
    return sparse_rows(ptr, column, torch.from_numpy(attributes.data.astype(np.float32)), attributes.shape[1])


def _rows_to_one(x: torch.Tensor) -> torch.Tensor:
    """Scale the absolute values of each row to sum to one; rows of zeros stay zero."""
    if not is_sparse(x):
        total = x.abs().sum(1, keepdim=True)
        return x / torch.where(total > 0, total, 1.0)
    row, value = entry_rows(x), x.values()
    total = torch.zeros(x.shape[0]).index_add_(0, row, value.abs())[row]
    return with_values(x, value / torch.where(total > 0, total, 1.0))


def _label_columns(dataset: Dataset, known: LabelValues, unknown: Unknown) -> np.ndarray:
    """Return the ``[N, C]`` one-hot column of each label; the columns of each label follow those of the previous."""
    assert dataset.node_labels is not None
    place = places(
        dataset.node_labels, known, unknown, dataset=dataset.name, item="node", name=lambda row: f"node {row + 1}"
    )
    before = np.cumsum([0, *map(len, known)])[:-1]
    return np.where(place < 0, -1, place + before)
