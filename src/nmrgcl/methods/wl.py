"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder, Level
from nmrgcl.settings import setting
from nmrgcl.words.counts import count_words
from nmrgcl.words.wl import mix, node_labels, wl_labels


@dataclass(frozen=True)
class Options:
    """How often labels are refined, and how wide embeddings are."""

    iterations: int = setting(5, "rounds of refinement at most (h); the SVM chooses among 0 to h", min=0, max=100)
    columns: int = setting(1024, "of embeddings, over which labels are spread by hashing", min=1)


class WL(Embedder):
    """Graphs are similar if they have many rooted subtrees in common, up to a depth.

    The kernels are exact. Embeddings approximate the deepest one: each label is counted, as +1 or -1, in one of few
    columns that its hash names, so that the inner product of two embeddings is their similarity on average (Weinberger
    et al. 2009). Nothing is learned, so that graphs that are not in ``fit`` are embedded like all others.
    """

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "wl"}

    @property
    def width(self) -> int:
        """As many columns as the options say."""
        return self.options.columns

    def fit(self, graphs: Graphs) -> None:
        """Nothing to find; graphs without labels are refused."""
        node_labels(graphs, "wl")

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` rows of length one, or of zeros for a graph without nodes."""
        graphs = graphs.compact()
        counts = torch.zeros(graphs.num_graphs, self.width, dtype=torch.float64, device=graphs.device)
        for labels in wl_labels(graphs, self.options.iterations, method="wl"):
            spread = mix(labels)
            sign = torch.where(spread < 0, -1.0, 1.0).double()
            counts.index_put_((graphs.batch, spread % self.width), sign, accumulate=True)  # integers: exact
        return normalize(counts).float()

    def kernels(self, graphs: Graphs) -> Tensor:
        """``[h + 1, B, B]`` for each number of refinements, normalised: K_ij / √(K_ii K_jj)."""
        graphs = graphs.compact()
        total = np.zeros((graphs.num_graphs, graphs.num_graphs))
        found = np.empty((self.options.iterations + 1, *total.shape), np.float32)
        for kernel, labels in zip(found, wl_labels(graphs, self.options.iterations, method="wl"), strict=True):
            counts, _ = count_words(labels, graphs.batch, graphs.num_graphs)
            total += (counts @ counts.T).toarray()
            length = np.sqrt(np.maximum(total.diagonal(), 1))  # zero only for a graph without nodes
            kernel[:] = total / length[:, None] / length
        return torch.from_numpy(found)


METHOD = WL
