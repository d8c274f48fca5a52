"""Deep graph kernels (Yanardag and Vishwanathan 2015): graph similarity from learned similarities of substructures."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Embedder, Level
from nmrgcl.settings import Settings, setting
from nmrgcl.words.counts import count_columns, count_known
from nmrgcl.words.graphlets import graphlets
from nmrgcl.words.options import LearnedWords
from nmrgcl.words.paths import shortest_paths
from nmrgcl.words.vectors import bags
from nmrgcl.words.wl import wl_labels


@dataclass(frozen=True)
class Options(LearnedWords):
    """The words of a graph, and how their vectors are learned."""

    words: Literal["wl", "shortest_paths", "graphlets"] = setting("wl", "the substructures that serve as words")
    iterations: int = setting(2, "number of refinement rounds, for wl", min=0, max=100)
    graphlet_size: int = setting(5, "number of nodes of a graphlet", min=2, max=6)
    samples: int = setting(1000, "graphlets sampled per graph", min=1)
    pairs: int = setting(1000, "pairs of words sampled per graph to learn vectors from", min=1)
    columns: int = setting(32, "dimension of the word vectors", min=1)


class DGK(Embedder):
    """The normalised kernel K = P M Pᵀ, where P holds word counts of graphs and M similarities of words.

    Skip-gram learns a vector per word, such that words of one graph predict each other. The similarity of two words is
    the cosine of their vectors, so that every word has similarity 1 with itself, and orthogonal words (M = I) give the
    plain kernel of counts. With inner products, as in the paper's code, the lengths of vectors would weight words a
    second time. As M = E Eᵀ, the rows of P E are embeddings with inner products K, so neither M nor P is ever dense.
    Words that did not occur in ``fit`` are ignored.
    """

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="graph kernel",
        paper="Yanardag, Vishwanathan 2015: Deep Graph Kernels",
        trains="an input vector per word, which embedding needs, and an output vector, which is discarded",
        published="PTC 60.08 (shortest paths), PROTEINS 73.30, NCI1 80.31 (labels), IMDB-B 66.96 (graphlets): the "
        "kind of words differs between datasets, and the paper does not say how it was chosen",
        checked="the kernel of three graphs by hand, shortest paths against NetworkX, the numbers of graphlets (OEIS); "
        "tests/methods/test_dgk.py",
    )
    FORMAT = 2
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "dgk"}
    vocabulary: Tensor
    vectors: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.seed = settings.seed
        self.register_buffer("vocabulary", torch.empty(0, dtype=torch.long))
        self.register_buffer("vectors", torch.empty(0, self.options.columns))

    @property
    def width(self) -> int:
        """The dimension of the word vectors."""
        return self.options.columns

    def documents(self, graphs: Graphs) -> tuple[Tensor, Tensor, Tensor | None]:
        """The words ``[T]`` of all graphs, the graph of each, and how often it occurs there (None: once)."""
        graphs, own = graphs.compact().to("cpu"), self.options
        if own.words == "shortest_paths":
            return shortest_paths(graphs, method="dgk")
        if own.words == "graphlets":
            return *graphlets(graphs, own.graphlet_size, own.samples, self.seed), None
        labels = list(wl_labels(graphs, own.iterations, method="dgk"))
        return torch.cat(labels), graphs.batch.repeat(len(labels)), None

    def fit(self, graphs: Graphs) -> None:
        """Learn the word vectors on the host, where the same seed gives identical results."""
        own = self.options
        words, batch, times = self.documents(graphs)
        chosen = own.choose(words, batch, len(graphs), method="dgk")
        pairs = draw_pairs(count_known(words, batch, len(graphs), chosen, times=times), own.pairs)
        # For skip-gram, the rows are words: each predicts the words it was drawn with.
        vectors, _ = own.learn(bags(pairs), len(chosen))
        self.vocabulary, self.vectors = (part.to(self.vectors.device) for part in (chosen, normalize(vectors)))

    def embed(self, graphs: Graphs) -> Tensor:
        """The rows ``[B, D]`` of P E, scaled to unit length; zero for graphs without known words."""
        words, batch, times = self.documents(graphs)
        counts = count_known(words, batch, len(graphs), self.vocabulary.cpu(), times=times)
        found = counts @ self.vectors.cpu().double().numpy()
        return normalize(torch.from_numpy(found)).float().to(graphs.device)

    def kernels(self, graphs: Graphs) -> Tensor:
        """The kernel as ``[1, B, B]``."""
        z = self.embed(graphs).double()
        return (z @ z.T).float().unsqueeze(0)


def draw_pairs(counts: csr_array, pairs: int) -> csr_array:
    """Draw ``pairs`` random pairs of words from each graph and count them: ``[W, W]``.

    Words are drawn in proportion to their ``counts`` ``[B, W]`` in the graph.
    """
    total, sums = counts.sum(1), np.cumsum(counts.data)
    # One running sum serves all graphs: a graph's words fill the interval from `before` on, as long as its total.
    graph = np.flatnonzero(total).repeat(pairs)
    before = np.cumsum(total) - total
    first, second = (
        counts.indices[np.searchsorted(sums, before[graph] + chance * total[graph], side="right")]
        for chance in torch.rand(2, len(graph), dtype=torch.float64).numpy()
    )
    return count_columns(second, first, (counts.shape[1], counts.shape[1]))


METHOD = DGK
