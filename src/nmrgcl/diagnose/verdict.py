"""Complete, dimensional or no collapse: three numbers, three thresholds, one sentence.

The thresholds lie in the gaps between planted cases (``planted.py``); ``nmrgcl diagnose --calibrate`` shows how often
the verdict is right on them. Units and rotations do not change it.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from nmrgcl.diagnose.collapse import relative_spread, singular_spectrum
from nmrgcl.diagnose.spectrum import entropy_rank, noise_rank, numerical_rank

Kind = Literal["complete", "dimensional", "none"]

SPREAD = 0.01
"""Rows whose distance from their mean is below this share of their length are one point: complete collapse."""
USED = 2 / 3
"""Below this share of the effective rank that Gaussian noise of the same shape has: dimensional collapse."""
FILLED = 0.9
"""Where fewer than this share of the possible directions hold anything: dimensional collapse, too."""
EMPTY = 1e-3
"""A direction whose singular value is at most this share of the largest holds nothing."""


@dataclass(frozen=True)
class Verdict:
    """What the thresholds make of an embedding.

    Attributes:
        kind: of collapse.
        spread: distance of rows from their mean, over their length (root mean squares).
        effective_rank: of the centred embeddings.
        used: ``effective_rank`` over that of noise of the same shape: 1 where no direction is preferred.
        filled: share of the possible directions that are not empty.
        possible: directions that so many rows in so many dimensions can have.
        width: dimensions.
    """

    kind: Kind
    spread: float
    effective_rank: float
    used: float
    filled: float
    possible: int
    width: int

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        if self.kind == "complete":
            return (
                f"Complete collapse: all embeddings are nearly the same point; they differ from their mean by "
                f"{self.spread:.2g} of their length."
            )
        few = f" ({self.possible + 1} rows cannot show all {self.width})" if self.possible < self.width else ""
        use = (
            f"embeddings use about {self.effective_rank:.1f} of {self.possible} dimensions{few}, {self.used:.0%} of "
            "what embeddings without a preferred direction would"
        )
        empty = round((1 - self.filled) * self.possible)
        if self.kind == "dimensional":
            return f"Dimensional collapse: {use}; {empty} directions are empty."
        return f"No collapse: {use}."


def judge_collapse(z: Tensor) -> Verdict:
    """The verdict on embeddings ``[B, D]`` with at least two rows."""
    return judge_spectrum(singular_spectrum(z), relative_spread(z), rows=z.shape[0], width=z.shape[1])


def judge_spectrum(values: Tensor, spread: float, *, rows: int, width: int) -> Verdict:
    """The same from a spectrum that is known already."""
    possible = min(rows - 1, width)
    rank = entropy_rank(values)
    used = rank / noise_rank(rows, width)
    filled = numerical_rank(values, EMPTY) / possible
    kind: Kind = "none"
    if spread < SPREAD:
        kind = "complete"
    elif used < USED or filled < FILLED:
        kind = "dimensional"
    return Verdict(kind, spread, rank, used, filled, possible, width)
