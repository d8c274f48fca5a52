"""Where a training takes its graphs from."""

import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.featured import featured_store
from nmrgcl.data.features import FeatureSpec, apply_features
from nmrgcl.settings import Settings
from nmrgcl.train.feed import Source, fit


def training_source(dataset: Dataset, features: FeatureSpec, settings: Settings, device: torch.device) -> Source:
    """Graphs on the device or, where they would not fit there or in the host's memory, what to read them from."""
    if settings.level == "node":  # one graph, which a step sees as a whole or samples from
        return apply_features(dataset, features).to(device)
    stored = featured_store(dataset, features)
    fits = stored is None or all(fit(stored, place) for place in (device, torch.device("cpu")))
    if stored is not None and (settings.train.chunk_graphs or not fits):
        return stored
    graphs = apply_features(dataset, features)
    return graphs.to(device) if fit(graphs, device) and not settings.train.chunk_graphs else graphs
