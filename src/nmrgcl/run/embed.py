"""Embeddings of whole datasets."""

import numpy as np
import torch
from torch import Tensor

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import Unknown, apply_features
from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method
from nmrgcl.model_folder import Model
from nmrgcl.run.export import Embeddings
from nmrgcl.run.level import require_level
from nmrgcl.train.feed import Source

RANK_GRAPHS = 1024
"""Effective rank is tracked on this many graphs or nodes at most: an SVD of more would cost as much as an epoch."""


@torch.no_grad()
def embed_all(method: Method, graphs: Graphs) -> Tensor:
    """``[B, D]`` embeddings of all graphs in their order, or ``[N, D]`` of all nodes, in evaluation mode."""
    method.eval()
    if method.level == "node":
        z = method.embed(graphs)
    else:
        z = torch.cat([method.embed(part) for part in graphs.passes(torch.arange(graphs.num_graphs))])
    if not bool(z.isfinite().all()):
        raise ModelError(
            "the embeddings hold NaN or infinity: training has diverged; train again with a lower train.lr"
        )
    return z


def embed_some(method: Method, graphs: Source) -> Tensor:
    """Embeddings of an even sample of the graphs or nodes, enough to measure their rank."""
    device = next(method.parameters()).device
    if method.level == "node":
        # As it is, not taken anew: what a method has worked out for the graph, it knows it by.
        whole = (graphs if isinstance(graphs, Graphs) else graphs.take(torch.arange(len(graphs)))).to(device)
        return embed_all(method, whole)[:: -(-whole.num_nodes // RANK_GRAPHS)]
    sample = graphs.take(torch.arange(0, len(graphs), -(-len(graphs) // RANK_GRAPHS)))
    return embed_all(method, sample.to(device))


def embed_dataset(model: Model, dataset: Dataset, device: torch.device, *, unknown: Unknown = "error") -> Embeddings:
    """Embeddings of graphs, or of nodes of a graph, that need not be those of the training, with their own labels."""
    if model.method.level == "node":
        require_level(dataset, model.settings)
    graphs = apply_features(dataset, model.features, unknown=unknown).to(device)
    z = embed_all(model.method.to(device), graphs).cpu().numpy()
    return Embeddings(z, _original_labels(dataset, model.method.level), np.arange(len(z)))


def _original_labels(dataset: Dataset, level: str) -> np.ndarray | None:
    """``[B]`` or ``[N]``; where one is missing, numbers become floating point with NaN, and text is empty."""
    y = dataset.y
    if y is None or dataset.level != level or not dataset.classes:
        return None
    labels = np.asarray(dataset.classes)[y]
    if (y < 0).any():
        labels = np.where(y < 0, "" if labels.dtype.kind == "U" else np.nan, labels)
    return labels
