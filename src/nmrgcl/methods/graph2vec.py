"""Graph2Vec (Narayanan et al. 2017): a graph is a document of its Weisfeiler–Lehman labels."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Embedder, Level
from nmrgcl.settings import Settings, setting
from nmrgcl.words.counts import count_known
from nmrgcl.words.options import LearnedWords
from nmrgcl.words.vectors import Words, bags, infer
from nmrgcl.words.wl import wl_labels


@dataclass(frozen=True)
class Options(LearnedWords):
    """The words of a graph, and how their vectors are learned."""

    iterations: int = setting(3, "number of refinement rounds of the labels", min=0, max=100)
    negatives: int = setting(10, "number of random negative words per word", min=1)
    passes: int = setting(20, "number of passes over all graphs", min=1)


class Graph2Vec(Embedder):
    """PV-DBOW: the vector of a graph predicts the labels of its nodes.

    ``fit`` stores the word vectors. Vectors of graphs, whether in ``fit`` or new, are inferred from them; words that
    did not occur in ``fit`` are ignored.
    """

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="document embedding",
        paper="Narayanan, Chandramohan, Venkatesan, Chen, Liu, Jaiswal 2017: graph2vec: Learning Distributed "
        "Representations of Graphs",
        trains="a vector per word, which embedding needs, and one per graph, which is discarded and inferred again",
        published="PTC 60.17, PROTEINS 73.30, NCI1 73.22 (the SVM's settings by cross-validation on training folds)",
        checked="the words of a graph of five nodes by hand; inferred vectors against the gradient of their loss; "
        "tests/methods/test_documents.py",
    )
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "graph2vec"}
    vocabulary: Tensor
    output: Tensor
    chance: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.register_buffer("vocabulary", torch.empty(0, dtype=torch.long))
        self.register_buffer("output", torch.empty(0, self.options.columns))
        self.register_buffer("chance", torch.empty(0))

    @property
    def width(self) -> int:
        """The option ``columns``."""
        return self.options.columns

    def documents(self, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """The words ``[T]`` of all graphs, and the graph of each."""
        graphs = graphs.compact()
        labels = list(wl_labels(graphs, self.options.iterations, method="graph2vec"))
        return torch.cat(labels).cpu(), graphs.batch.repeat(len(labels)).cpu()

    def fit(self, graphs: Graphs) -> None:
        """Learn the word vectors on the host, where the same seed gives identical results."""
        words, batch = self.documents(graphs)
        chosen = self.options.choose(words, batch, len(graphs), method="graph2vec")
        _, found = self.options.learn(bags(count_known(words, batch, len(graphs), chosen)), len(graphs))
        self.vocabulary, self.output, self.chance = (
            part.to(self.output.device) for part in (chosen, found.output, found.chance)
        )

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]``, computed for some graphs at a time, because every word of a graph needs a vector in memory."""
        words = Words(self.output.cpu(), torch.empty(0, self.width), self.chance.cpu())
        vocabulary, parts = self.vocabulary.cpu(), [torch.empty(0, self.width)]
        for part in graphs.passes(torch.arange(len(graphs))):
            counts = count_known(*self.documents(part), len(part), vocabulary)
            parts.append(infer(bags(counts), len(part), words, negatives=self.options.negatives))
        return torch.cat(parts).to(graphs.device)


METHOD = Graph2Vec
