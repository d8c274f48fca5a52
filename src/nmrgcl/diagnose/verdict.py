"""The verdict on collapse (complete, dimensional or none) from four numbers and their thresholds.

The thresholds lie in the gaps between synthetic cases (``tests/diagnose/planted.py``), and
``python -m tests.diagnose.calibration`` measures how often the verdict is right on them. The verdict is invariant to
scaling and rotation. A few long rows can change it, in which case the sentence says so.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import torch
from torch import Tensor

from nmrgcl.diagnose.collapse import relative_spread, singular_spectrum
from nmrgcl.diagnose.spectrum import (
    ROUNDING,
    entropy_rank,
    filled_by_noise,
    filled_directions,
    noise_rank,
    numerical_rank,
)
from nmrgcl.diagnose.units import to_unit_range

CollapseKind = Literal["complete", "dimensional", "none"]

SPREAD = 0.01
"""Collapse is complete if the distance of rows from their mean is below this share of their length."""
USED = 2 / 3
"""Collapse is dimensional if the effective rank is below this share of that of Gaussian noise of the same shape."""
FILLED = 0.87
"""Collapse is also dimensional if fewer directions are filled than this share of those that noise would fill."""
EMPTY = 0.15
"""A direction is empty if its spread is at most this share of the root mean square over all directions."""
LONG = 3.0
"""A row is long if its distance from the median row exceeds this many times the median distance."""

ENOUGH = 20
"""With fewer rows, even Gaussian noise may look collapsed."""


@dataclass(frozen=True)
class CollapseVerdict:
    """The verdict on an embedding and the numbers behind it.

    Attributes:
        kind: the kind of collapse.
        spread: distance of rows from their mean over their length (root mean squares).
        effective_rank: the effective rank of the centred embeddings.
        used: ``effective_rank`` over that of noise of the same shape: 1 if no direction is preferred.
        filled: number of non-empty directions over that of noise of the same shape.
        empty: number of empty directions.
        possible: the largest possible rank for this number of rows and dimensions.
        rows: the number of embeddings.
        width: the number of dimensions.
        rank: the numerical rank; below ``possible``, the embeddings span a proper subspace (Definition 1).
        long_rows: the number of long rows.
        clipped: the verdict with long rows shortened; None if there are none.
    """

    kind: CollapseKind
    spread: float
    effective_rank: float
    used: float
    filled: float
    empty: int
    possible: int
    rows: int
    width: int
    rank: int
    long_rows: int = 0
    clipped: "CollapseVerdict | None" = None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        doubt = "" if self.rows >= ENOUGH else f" Only {self.rows} rows: {ENOUGH} or more make this reliable."
        return self._claim() + self._caveat() + doubt

    def to_dict(self) -> dict[str, Any]:
        """Kind and effective rank as plain values."""
        return {"verdict": self.kind, "effective_rank": self.effective_rank, "used": self.used}

    def without_noise(self) -> Self:
        """This verdict, but with rank 0 if all rows are a single point, whatever the noise around it spans."""
        if self.kind != "complete":
            return self
        return replace(self, effective_rank=0.0, used=0.0, filled=0.0, empty=self.possible, rank=0)

    def _claim(self) -> str:
        few = f" ({self.rows} rows cannot show all {self.width})" if self.possible < self.width else ""
        reading = f"{self.without_noise().effective_rank:.0f} of {self.possible} dimensions are used{few}"
        if self.kind == "complete":
            return (
                f"{reading}: complete collapse. All embeddings are nearly the same point; they differ from their mean "
                f"by {self.spread:.2g} of their length."
            )
        even = f"Embeddings without a preferred direction would use {noise_rank(self.rows, self.width):.0f}"
        if self.kind == "none":
            return f"{reading}: no collapse. {even}."
        rank = f"rank {self.rank} of {self.possible}"
        if _is_spread_out(self.used, self.filled):
            return (
                f"{reading}: dimensional collapse by the paper's Definition 1: {rank} (singular values up to "
                f"{ROUNDING:g} of the largest count as zero), a proper subspace. It is filled. {even}."
            )
        proper = f"; {rank}" if self.rank < self.possible else ""
        return f"{reading}: dimensional collapse. {even}; {self.empty} directions are nearly empty{proper}."

    def _caveat(self) -> str:
        if self.clipped is None or self.clipped.kind == self.kind:
            return ""
        rows = "row carries" if self.long_rows == 1 else "rows carry"
        return (
            f" But {self.long_rows} long {rows} this verdict: with rows cut to {LONG:g} times the median distance from "
            f"the median, it is {self.clipped.kind} (about {self.clipped.effective_rank:.1f} of {self.possible})."
        )


def judge_collapse(z: Tensor, values: Tensor | None = None) -> CollapseVerdict:
    """The verdict on embeddings ``[B, D]`` with at least two rows; ``values`` is their spectrum, if known."""
    rows, width = z.shape
    values = singular_spectrum(z) if values is None else values
    found = judge_spectrum(values, relative_spread(z), rows=rows, width=width)
    short, count = clip_long_rows(z)
    if not count:
        return found
    clipped = judge_spectrum(singular_spectrum(short), relative_spread(short), rows=rows, width=width)
    return replace(found, long_rows=count, clipped=clipped)


def judge_spectrum(values: Tensor, spread: float, *, rows: int, width: int) -> CollapseVerdict:
    """The verdict from a known spectrum, without a check for long rows."""
    possible, effective, rank = min(rows - 1, width), entropy_rank(values), numerical_rank(values)
    used, full = effective / noise_rank(rows, width), filled_directions(values, possible, EMPTY)
    filled = full / filled_by_noise(rows, width, EMPTY)
    kind: CollapseKind = "none"
    # Checked first, because the noise around a single point has the spectrum of no collapse.
    if spread < SPREAD:
        kind = "complete"
    # A proper subspace is Definition 1, however evenly it is filled.
    elif rank < possible or not _is_spread_out(used, filled):
        kind = "dimensional"
    return CollapseVerdict(kind, spread, effective, used, filled, possible - full, possible, rows, width, rank)


def clip_long_rows(z: Tensor) -> tuple[Tensor, int]:
    """``z`` with long rows moved towards the median row until they are no longer long, and the number of such rows."""
    z, _ = to_unit_range(z.double())
    # Medians, which long rows themselves hardly move.
    middle = z.median(0).values
    distance = torch.linalg.vector_norm(z - middle, dim=1)
    limit = LONG * distance.median()
    is_long = distance > limit
    # If more than half of the rows are equal, the median distance is 0 and says nothing about length.
    factor = torch.where(is_long & (limit > 0), limit / distance, 1.0)
    return middle + (z - middle) * factor[:, None], int((factor < 1).sum())


def _is_spread_out(used: float, filled: float) -> bool:
    return used >= USED and filled >= FILLED
