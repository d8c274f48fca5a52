"""Embeddings of whole datasets."""

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import Unknown, apply_features
from nmrgcl.feed import Source
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method
from nmrgcl.model_folder import Model
from nmrgcl.run.export import Embeddings

RANK_GRAPHS = 1024
"""Effective rank is tracked on this many graphs at most: an SVD of more would cost as much as an epoch."""


@torch.no_grad()
def embed_all(method: Method, graphs: Graphs, batch_size: int = 512) -> Tensor:
    """``[B, D]`` embeddings of all graphs in their order, in evaluation mode."""
    method.eval()
    parts = [method.embed(graphs.take(part)) for part in torch.arange(graphs.num_graphs).split(batch_size)]
    return torch.cat(parts)


def embed_some(method: Method, graphs: Source) -> Tensor:
    """Embeddings of an even sample of the graphs, enough to measure their rank."""
    sample = graphs.take(torch.arange(0, len(graphs), -(-len(graphs) // RANK_GRAPHS)))
    return embed_all(method, sample.to(next(method.parameters()).device))


def embed_dataset(model: Model, dataset: Dataset, device: torch.device, *, unknown: Unknown = "error") -> Embeddings:
    """Embeddings of graphs that need not be those of the training; ``y`` holds the original labels."""
    graphs = apply_features(dataset, model.features, unknown=unknown).to(device)
    z = embed_all(model.method.to(device), graphs).cpu().numpy()
    return Embeddings(z, _original_labels(dataset), np.arange(len(z)))


def _original_labels(dataset: Dataset) -> np.ndarray | None:
    """``[B]``; where one is missing, numbers become floating point with NaN, and text is empty."""
    y = dataset.y
    if y is None or dataset.level == "node" or not dataset.classes:
        return None
    labels = np.asarray(dataset.classes)[y]
    if (y < 0).any():
        labels = np.where(y < 0, "" if labels.dtype.kind == "U" else np.nan, labels)
    return labels
