"""A dataset that stays on disk: graphs are read, and their features computed, one batch at a time."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from nmrgcl.data.categories import one_hot_columns
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.store import Store


@dataclass(frozen=True, eq=False)
class FeaturedStore:
    """``take`` returns the same graphs as ``apply_features(dataset, spec).take``, without holding all in memory."""

    store: Store
    dataset: Dataset
    spec: FeatureSpec

    @property
    def num_features(self) -> int:
        """The number of feature columns."""
        return self.spec.width

    def __len__(self) -> int:
        return len(self.store)

    def sizes(self) -> tuple[Tensor, Tensor]:
        """Return the number of nodes ``[B]`` and of directed edges ``[B]`` of each graph."""
        return self.store.sizes()

    def take(self, index: Tensor) -> Graphs:
        """Return the graphs at ``index``, in that order, with their features."""
        nodes, values = self.store.nodes_of(index), self.dataset
        rows: dict[str, Any] = {"node_labels": nodes, "node_attributes": nodes}
        if self.spec.edges is not None:
            rows[f"edge_{self.spec.edges.kind}"] = self.store.edges_of(index)
        chosen = {name: found[row] for name, row in rows.items() if (found := getattr(values, name)) is not None}
        if values.categories is not None:
            chosen["categories"] = values.categories.take(nodes)
        return apply_features(replace(values, held=self.store.take(index), **chosen), self.spec, quiet=True)


def featured_store(dataset: Dataset, spec: FeatureSpec) -> FeaturedStore | None:
    """Return the dataset's store with features; None if it has no store or a damaged one."""
    if dataset.store is None:
        return None
    try:
        source = FeaturedStore(dataset.store.check_bytes(), dataset, spec)
        source.take(torch.arange(0))  # raises now if the dataset lacks what the features need
        if spec.categories:
            one_hot_columns(dataset.categories, spec.categories, dataset.name)  # warns about unknown values once
    except DataError:
        return None
    return source
