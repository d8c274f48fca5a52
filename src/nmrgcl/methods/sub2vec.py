"""Sub2Vec (Adhikari et al. 2018): a graph is a document of random walks on it."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Embedder, Level
from nmrgcl.settings import Settings, setting
from nmrgcl.words.counts import count_columns
from nmrgcl.words.options import LearnedVectors
from nmrgcl.words.vectors import Places, Words, bags, infer, join, windows
from nmrgcl.words.wl import combine

BINS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75)
"""Upper bounds of bins for degree over number of nodes; each bin, and what lies beyond the last, is a word."""
TOKENS_AT_ONCE = 2**21
"""Approximate number of words of walks in memory at a time."""


@dataclass(frozen=True)
class Options(LearnedVectors):
    """The walks, and how vectors are learned from them."""

    tokens: Literal["structural", "neighbourhood"] = setting(
        "structural", "the word for a node is its relative degree, or its index in the graph"
    )
    model: Literal["dm", "dbow"] = setting("dm", "PV-DM, which uses the surrounding words, or PV-DBOW")
    walks: int = setting(10, "number of walks per graph", min=1)
    length: int = setting(100, "number of nodes of a walk", min=1)
    window: int = setting(2, "context words on each side of a word, for dm", min=1, max=10)


class Sub2Vec(Embedder):
    """The vector of a graph predicts the words on random walks.

    ``fit`` stores the word vectors. Vectors of graphs, whether in ``fit`` or new, are inferred from them. The walks on
    a graph depend only on the seed and the graph.
    """

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="document embedding",
        paper="Adhikari, Zhang, Ramakrishnan, Prakash 2018: Sub2Vec: Feature Learning for Subgraphs",
        trains="two vectors per word, which embedding needs, and one per graph, which is discarded and inferred again",
        published="none on these datasets in its own paper; Table 1 prints PTC 59.99 and PROTEINS 53.03, probably for "
        "walks with node indices as words, so that graphs have no words in common",
        checked="walks and windows by hand; inferred vectors against the gradient of their loss; "
        "tests/methods/test_documents.py",
    )
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "sub2vec"}
    output: Tensor
    input: Tensor
    chance: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.seed = settings.seed
        for name in ("output", "input"):
            self.register_buffer(name, torch.empty(0, self.options.columns))
        self.register_buffer("chance", torch.empty(0))

    @property
    def width(self) -> int:
        """The option ``columns``."""
        return self.options.columns

    def words_of_nodes(self, graphs: Graphs) -> Tensor:
        """``[N]`` the word for each node."""
        if self.options.tokens == "neighbourhood":
            return torch.arange(graphs.num_nodes) - graphs.node_ptr[graphs.batch]
        share = graphs.row_ptr.diff() / graphs.node_ptr.diff()[graphs.batch]
        return torch.bucketize(share, torch.tensor(BINS))

    def documents(self, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """The words ``[B' · walks, length]`` of all walks, -1 after the end of a walk, and the graph of each walk.

        Graphs without nodes have no walks.
        """
        own = self.options
        graph = (graphs.node_ptr.diff() > 0).nonzero().squeeze(1).repeat_interleave(own.walks)
        walk = torch.arange(len(graph)) % own.walks
        word, degree = self.words_of_nodes(graphs), graphs.row_ptr.diff()
        neighbour = pad(graphs.edge_index[0], (0, 1))  # A last node without neighbours would index past the end.
        node = graphs.node_ptr[graph] + draw(graphs.node_ptr.diff()[graph], walk, 0, self.seed)
        found = torch.full((len(graph), own.length), -1)
        alive = torch.ones_like(graph, dtype=torch.bool)
        for step in range(own.length):
            found[:, step] = torch.where(alive, word[node], -1)
            alive = alive & (degree[node] > 0)
            # Number 0 drew the start.
            place = graphs.row_ptr[node] + draw(degree[node], walk, step + 1, self.seed)
            node = torch.where(alive, neighbour[place], node)
        return found, graph

    def places(self, graphs: Graphs, num_words: int) -> Places:
        """The training examples for vectors; words from ``num_words`` on are unknown."""
        walks, graph = self.documents(graphs)
        walks = torch.where(walks < num_words, walks, -1)
        row = graph[:, None].expand_as(walks)
        if self.options.model == "dbow":
            known = walks >= 0
            return bags(count_columns(walks[known].numpy(), row[known].numpy(), (len(graphs), num_words)))
        reach = self.options.window
        padded = pad(walks, (reach, reach), value=-1)
        near = [padded[:, reach + by : reach + by + walks.shape[1]] for by in range(-reach, reach + 1) if by]
        return windows(row.flatten(), torch.stack(near, 2).flatten(0, 1), walks.flatten(), num_words)

    def parts(self, graphs: Graphs) -> list[Graphs]:
        """The graphs in parts that are small enough for their walks to fit in memory."""
        at_once = max(1, TOKENS_AT_ONCE // (self.options.walks * self.options.length))
        graphs = graphs.compact().to("cpu")
        return [graphs.take(index) for index in torch.arange(len(graphs)).split(at_once)]

    def fit(self, graphs: Graphs) -> None:
        """Learn the word vectors on the host, where the same seed gives identical results."""
        own = self.options
        num_words = len(BINS) + 1 if own.tokens == "structural" else int(graphs.compact().node_ptr.diff().max())
        parts = self.parts(graphs)
        places = join([self.places(part, num_words) for part in parts], [len(part) for part in parts])
        _, found = own.learn(places, len(graphs))
        self.output, self.input, self.chance = (
            part.to(self.output.device) for part in (found.output, found.input, found.chance)
        )

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]``, computed part by part."""
        words = Words(self.output.cpu(), self.input.cpu(), self.chance.cpu())
        found = [torch.empty(0, self.width)]
        for part in self.parts(graphs):
            places = self.places(part, len(words.output))
            found.append(infer(places, len(part), words, negatives=self.options.negatives))
        return torch.cat(found).to(graphs.device)


def draw(count: Tensor, number: Tensor, step: int, seed: int) -> Tensor:
    """A pseudo-random number from 0 to ``count`` - 1 that depends only on ``number``, ``step`` and ``seed``."""
    word = combine(torch.full_like(number, seed), number, torch.full_like(number, step))
    # Hashes may be negative, but PyTorch's remainder has the sign of the divisor.
    return word % count.clamp(min=1)


METHOD = Sub2Vec
