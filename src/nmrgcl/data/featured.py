"""A dataset that stays on disk: its graphs with their features, made for those that are asked for."""

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
    """``take`` is that of ``apply_features(dataset, spec)``, without holding all of it."""

    store: Store
    dataset: Dataset
    spec: FeatureSpec

    @property
    def num_features(self) -> int:
        """As the features are wide."""
        return self.spec.width

    def __len__(self) -> int:
        return len(self.store)

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph."""
        return self.store.sizes()

    def take(self, index: Tensor) -> Graphs:
        """The graphs that ``index`` names, in that order."""
        nodes, values = self.store.nodes_of(index), self.dataset
        rows: dict[str, Any] = {"node_labels": nodes, "node_attributes": nodes}
        if self.spec.edges is not None:
            rows[f"edge_{self.spec.edges.kind}"] = self.store.edges_of(index)
        chosen = {name: found[row] for name, row in rows.items() if (found := getattr(values, name)) is not None}
        if values.categories is not None:
            chosen["categories"] = values.categories.take(nodes)
        return apply_features(replace(values, held=self.store.take(index), **chosen), self.spec, quiet=True)


def featured_store(dataset: Dataset, spec: FeatureSpec) -> FeaturedStore | None:
    """The dataset as it lies on disk; None where it does not, or is not what was written there."""
    if dataset.store is None:
        return None
    try:
        source = FeaturedStore(dataset.store.check_bytes(), dataset, spec)
        source.take(torch.arange(0))  # what the dataset lacks is told now
        if spec.categories:
            one_hot_columns(dataset.categories, spec.categories, dataset.name)  # and what the model does not know
    except DataError:
        return None
    return source
