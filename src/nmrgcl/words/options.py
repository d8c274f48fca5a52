"""Options shared by methods that learn vectors."""

from dataclasses import dataclass

from torch import Tensor

from nmrgcl.settings import setting
from nmrgcl.words.counts import choose_vocabulary
from nmrgcl.words.vectors import Places, Words, learn


@dataclass(frozen=True)
class LearnedVectors:
    """Options of negative sampling."""

    columns: int = setting(128, "dimension of the learned vectors", min=1)
    negatives: int = setting(5, "negative samples per predicted word", min=1)
    passes: int = setting(5, "passes over all words", min=1)
    learning_rate: float = setting(0.02, "initial learning rate of Adam, which decays to zero", above=0)

    def learn(self, places: Places, num_rows: int) -> tuple[Tensor, Words]:
        """Learn vectors ``[R, D]`` of rows, and those of words."""
        return learn(
            places,
            num_rows,
            width=self.columns,
            negatives=self.negatives,
            epochs=self.passes,
            lr=self.learning_rate,
        )


@dataclass(frozen=True)
class LearnedWords(LearnedVectors):
    """Options of negative sampling with a vocabulary chosen from the graphs."""

    least_graphs: int = setting(2, "number of graphs in which a word must occur; rarer words are left out", min=1)
    max_words: int = setting(500_000, "largest number of distinct words", min=1)

    def choose(self, words: Tensor, batch: Tensor, num_graphs: int, *, method: str) -> Tensor:
        """Return the vocabulary, ascending."""
        least, most = self.least_graphs, self.max_words
        return choose_vocabulary(words, batch, num_graphs, least_graphs=least, max_words=most, method=method)
