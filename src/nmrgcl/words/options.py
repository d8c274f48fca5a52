"""Options that methods with learned vectors share, and what is done by them."""

from dataclasses import dataclass

from torch import Tensor

from nmrgcl.settings import setting
from nmrgcl.words.counts import choose_vocabulary
from nmrgcl.words.vectors import Places, Words, learn


@dataclass(frozen=True)
class LearnedVectors:
    """How vectors are learned by negative sampling."""

    columns: int = setting(128, "of the vectors that are learned", min=1)
    negatives: int = setting(5, "words drawn at random against each one that is predicted", min=1)
    passes: int = setting(5, "over all words to predict", min=1)
    learning_rate: float = setting(0.02, "of Adam at the beginning; it falls to zero", above=0)

    def learn(self, places: Places, num_rows: int) -> tuple[Tensor, Words]:
        """Vectors ``[R, D]`` of rows, and those of words."""
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
    """The same, where the words are those that the graphs have."""

    least_graphs: int = setting(2, "graphs that a word must occur in; rarer ones are left out", min=1)
    max_words: int = setting(500_000, "different words at most", min=1)

    def choose(self, words: Tensor, batch: Tensor, num_graphs: int, *, method: str) -> Tensor:
        """The words that get vectors, ascending."""
        least, most = self.least_graphs, self.max_words
        return choose_vocabulary(words, batch, num_graphs, least_graphs=least, max_words=most, method=method)
