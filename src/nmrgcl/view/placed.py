"""The embeddings of one model as points of a map, with everything they can be coloured by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.diagnose.collapse import effective_rank, singular_spectrum
from nmrgcl.model_folder import Model
from nmrgcl.report.drawing import nearest
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.recipe import require_level

MOST_ATTRIBUTES = 24
"""Attributes of nodes that a map can be coloured by."""


@dataclass(frozen=True)
class Attribute:
    """One value per point: a number, or the number of a kind in ``names``; NaN or -1 where there is none."""

    kind: Literal["class", "number"]
    values: np.ndarray
    names: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Placed:
    """``z`` ``[B, D]`` by a model of ``dataset``, in the order of the graphs or nodes."""

    dataset: Dataset
    model: Model
    z: np.ndarray

    @classmethod
    def by(cls, model: Model, dataset: Dataset, device: torch.device) -> "Placed":
        """Embed all graphs, or all nodes."""
        if model.settings.level == "node":
            require_level(dataset, model.settings)
        graphs = apply_features(dataset, model.features).to(device)
        return cls(dataset, model, embed_all(model.method.to(device), graphs).cpu().numpy())

    @property
    def level(self) -> Literal["graph", "node"]:
        """What a point is."""
        return self.model.settings.level

    @cached_property
    def points(self) -> tuple[np.ndarray, list[float], float]:
        """``[B, 2]`` float32 on the two principal axes, most of them in −1 … 1; the axes' shares of the variance; and
        how much longer a unit of the first axis is than one of the second.
        """
        centred = (self.z - self.z.mean(0)).astype(np.float64)
        # Of a [D, D] matrix, which is far smaller than the embeddings of many points.
        values, vectors = np.linalg.eigh(centred.T @ centred)
        total = max(float(values.clip(0).sum()), 1e-300)
        axes, shares = vectors[:, ::-1][:, :2], (values[::-1][:2].clip(0) / total).tolist()
        xy = np.zeros((len(self.z), 2))
        xy[:, : axes.shape[1]] = centred @ axes
        low, high = _ends(xy)
        half = np.maximum((high - low) / 2, 1e-300)
        half = np.maximum(half, half.max() / 4)  # no axis is stretched to more than four times the other
        placed = np.clip((xy - (low + high) / 2) / half * 0.95, -1e3, 1e3)
        return placed.astype(np.float32), [*shares, 0.0][:2], float(half[0] / half[1])

    @cached_property
    def spectrum(self) -> list[float]:
        """Singular values of the embeddings, largest first."""
        return [float(f"{value:.5g}") for value in singular_spectrum(torch.from_numpy(self.z)).tolist()]

    @cached_property
    def rank(self) -> float:
        """The effective rank."""
        return float(effective_rank(torch.from_numpy(self.z)))

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """What the points can be coloured by, classes first."""
        found: dict[str, Attribute] = {}
        y, graphs = self.dataset.y, self.dataset.graphs
        if y is not None and len(self.dataset.classes) and len(y) == len(self.z):
            found["class"] = Attribute("class", y, [str(name) for name in self.dataset.classes])
        degree = graphs.row_ptr.diff().numpy()
        if self.level == "node":
            found["degree"] = Attribute("number", degree)
            found |= self._of_nodes()
        else:
            nodes, edges = (sizes.numpy() for sizes in graphs.sizes())
            found["nodes"], found["edges"] = Attribute("number", nodes), Attribute("number", edges // 2)
            found["mean degree"] = Attribute("number", edges / np.maximum(nodes, 1))
            if (rows := self.dataset.molecules) is not None:
                found |= {task: Attribute("number", rows.targets[:, n]) for n, task in enumerate(rows.tasks)}
        found["length of the embedding"] = Attribute("number", np.linalg.norm(self.z, axis=1))
        return found

    def _of_nodes(self) -> dict[str, Attribute]:
        found = {}
        if (labels := self.dataset.node_labels) is not None:
            for column in range(min(labels.shape[1], MOST_ATTRIBUTES)):
                kinds, codes = np.unique(labels[:, column], return_inverse=True)
                found[f"label {column + 1}"] = Attribute("class", codes, [str(kind) for kind in kinds])
        values = self.dataset.node_attributes
        if isinstance(values, np.ndarray) and values.shape[1] <= MOST_ATTRIBUTES:
            found |= {f"attribute {n + 1}": Attribute("number", values[:, n]) for n in range(values.shape[1])}
        return found

    def about(self, row: int) -> dict[str, Any]:
        """A point in words: its id, class and sizes."""
        ids = self.dataset.ids(self.level)
        facts: dict[str, Any] = {"row": row, "id": str(row + 1) if ids is None else str(ids[row])}
        for name, attribute in self.attributes.items():
            value = attribute.values[row]
            if attribute.kind == "class":
                facts[name] = attribute.names[int(value)] if 0 <= int(value) < len(attribute.names) else "no label"
            elif np.isfinite(value):
                facts[name] = int(value) if float(value).is_integer() else float(f"{value:.4g}")
        if self.dataset.molecules is not None and self.level == "graph":
            facts["SMILES"] = str(self.dataset.molecules.smiles[row])
        return facts

    def neighbours(self, row: int, count: int) -> list[dict[str, Any]]:
        """The points embedded nearest to one, by Euclidean distance in all dimensions, nearest first."""
        rows, distances = nearest(self.z, row, count)
        pairs = zip(rows.tolist(), distances.tolist(), strict=True)
        return [self.about(each) | {"distance": float(f"{distance:.4g}")} for each, distance in pairs]

    def search(self, text: str, most: int = 20) -> list[int]:
        """Rows whose id is ``text``, then those whose id begins with it."""
        ids = self.dataset.ids(self.level)
        if ids is None:
            row = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 12 else -1
            return [row] if 0 <= row < len(self.z) else []
        begins = [row for row, name in enumerate(ids) if str(name).startswith(text)]
        return sorted(begins, key=lambda row: str(ids[row]) != text)[:most]


def _ends(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the view begins and ends: at the outermost points, unless a few are so far out that the rest is a dot."""
    if not len(xy):
        return np.zeros(2), np.zeros(2)
    low, high = xy.min(0), xy.max(0)
    inner = np.quantile(xy, (0.001, 0.999), axis=0)
    far = (high - low) > 3 * (inner[1] - inner[0])
    return np.where(far, inner[0], low), np.where(far, inner[1], high)
