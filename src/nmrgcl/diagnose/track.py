"""Measures that are cheap enough for use during training, and when to warn about collapse."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from nmrgcl.diagnose.alignment import uniformity
from nmrgcl.diagnose.collapse import relative_spread, singular_spectrum
from nmrgcl.diagnose.dimensions import correlation, dead_dimensions, duplicate_dimensions, mean_correlation
from nmrgcl.diagnose.spectrum import numerical_rank, participation_ratio, stable_rank, variance_share
from nmrgcl.diagnose.units import to_unit_range
from nmrgcl.diagnose.verdict import judge_spectrum

PAIRED_ROWS = 256
"""Uniformity is measured on an evenly spaced sample of at most this many rows."""
FALL = 0.5
"""Collapse begins when the effective rank falls below this share of its maximum so far."""


def track(z: Tensor, values: Tensor | None = None) -> dict[str, Any]:
    """Measures of how an embedding ``[B, D]`` uses its dimensions, as plain values.

    ``values`` are its singular values, if they are known and ``z`` is in the units of ``to_unit_range`` already.
    """
    if values is None:
        z, _ = to_unit_range(z)
        values = singular_spectrum(z)
    verdict = judge_spectrum(values, relative_spread(z), rows=len(z), width=z.shape[1])
    correlations = correlation(z)
    return {
        "effective_rank": verdict.effective_rank,
        "collapse": verdict.kind,
        "used": verdict.used,
        "stable_rank": stable_rank(values),
        "participation_ratio": participation_ratio(values),
        "numerical_rank": numerical_rank(values),
        "top_share": variance_share(values, 1),
        "dead_dimensions": dead_dimensions(z),
        "duplicate_dimensions": duplicate_dimensions(correlations),
        "mean_correlation": mean_correlation(correlations),
        "relative_spread": verdict.spread,
        "uniformity": uniformity(z[:: max(1, -(-len(z) // PAIRED_ROWS))]),
    }


def warn_of_collapse(tracked: Sequence[Mapping[str, Any]]) -> str | None:
    """A warning if collapse begins with the last of these measurements of one training; None otherwise.

    There are two reasons to warn, each of which is reported once: the embeddings have become a single point, or they
    use less than half as many dimensions as before.
    """
    if len(tracked) < 2:
        return None
    *before, now = tracked
    if now["collapse"] == "complete":
        if before[-1]["collapse"] == "complete":
            return None
        return "collapse begins: all embeddings are becoming the same point"
    ranks = [float(one["effective_rank"]) for one in before]
    warned = any(rank < FALL * max(ranks[:place]) for place, rank in enumerate(ranks) if place)
    if warned or not now["effective_rank"] < FALL * max(ranks):
        return None
    return (
        f"collapse begins: embeddings use about {now['effective_rank']:.1f} dimensions, less than half of the "
        f"{max(ranks):.1f} they once did"
    )
