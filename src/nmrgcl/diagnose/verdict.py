"""Complete, dimensional or no collapse: three numbers, three thresholds, one sentence.

The thresholds lie in the gaps between planted cases (``planted.py``); ``nmrgcl diagnose --calibrate`` shows how often
the verdict is right on them. Units and rotations do not change it.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from nmrgcl.diagnose.collapse import relative_spread, singular_spectrum
from nmrgcl.diagnose.spectrum import entropy_rank, filled_share, noise_rank

Kind = Literal["complete", "dimensional", "none"]

SPREAD = 0.01
"""Rows whose distance from their mean is below this share of their length are one point: complete collapse."""
USED = 2 / 3
"""Below this share of the effective rank that Gaussian noise of the same shape has: dimensional collapse."""
FILLED = 0.87
"""Where fewer directions are filled than this share of those that noise would fill: dimensional collapse, too."""
EMPTY = 0.15
"""A direction whose spread is at most this share of the root mean square of all is empty."""

ENOUGH = 20
"""With fewer rows Gaussian noise, too, may look collapsed."""


@dataclass(frozen=True)
class Verdict:
    """What the thresholds make of an embedding.

    Attributes:
        kind: of collapse.
        spread: distance of rows from their mean, over their length (root mean squares).
        effective_rank: of the centred embeddings.
        used: ``effective_rank`` over that of noise of the same shape: 1 where no direction is preferred.
        filled: directions that are not empty, over those of noise of the same shape.
        empty: directions that are.
        possible: directions that so many rows in so many dimensions can have.
        rows: embeddings that were judged.
        width: dimensions.
    """

    kind: Kind
    spread: float
    effective_rank: float
    used: float
    filled: float
    empty: int
    possible: int
    rows: int
    width: int

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        doubt = "" if self.rows >= ENOUGH else f" Only {self.rows} rows: {ENOUGH} or more make this reliable."
        return self._claim() + doubt

    def _claim(self) -> str:
        if self.kind == "complete":
            return (
                f"Complete collapse: all embeddings are nearly the same point; they differ from their mean by "
                f"{self.spread:.2g} of their length."
            )
        few = f" ({self.rows} rows cannot show all {self.width})" if self.possible < self.width else ""
        use = (
            f"embeddings use about {self.effective_rank:.1f} of {self.possible} dimensions{few}, {self.used:.0%} of "
            "what embeddings without a preferred direction would"
        )
        if self.kind == "dimensional":
            return f"Dimensional collapse: {use}; {self.empty} directions are nearly empty."
        return f"No collapse: {use}."


def judge_collapse(z: Tensor) -> Verdict:
    """The verdict on embeddings ``[B, D]`` with at least two rows."""
    return judge_spectrum(singular_spectrum(z), relative_spread(z), rows=z.shape[0], width=z.shape[1])


def judge_spectrum(values: Tensor, spread: float, *, rows: int, width: int) -> Verdict:
    """The same from a spectrum that is known already."""
    possible = min(rows - 1, width)
    rank = entropy_rank(values)
    used = rank / noise_rank(rows, width)
    filled = filled_share(values, rows, width, EMPTY)
    empty = possible - int((values > EMPTY * values[:possible].square().mean().sqrt()).sum())
    kind: Kind = "none"
    if spread < SPREAD:
        kind = "complete"
    elif used < USED or filled < FILLED:
        kind = "dimensional"
    return Verdict(kind, spread, rank, used, filled, empty, possible, rows, width)
