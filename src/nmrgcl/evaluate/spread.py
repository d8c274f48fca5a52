"""Summaries of scores, and how they are printed; a single score has no spread and is never printed with ±."""

from typing import Any

import numpy as np


def by_seed(scores: np.ndarray) -> dict[str, Any]:
    """Mean and sample standard deviation over seeds of ``[seeds, folds]``, and the mean of each seed.

    The standard deviation of a single seed is None.
    """
    seeds = scores.mean(axis=1)
    spread = float(seeds.std(ddof=1)) if len(seeds) > 1 else None
    return {"mean": float(seeds.mean()), "std": spread, "scores": seeds.tolist()}


def with_spread(mean: float, std: float | None) -> str:
    """``mean ± std`` with two decimals each, or only the mean if there is no standard deviation."""
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def signed(value: float) -> str:
    """A difference with two decimals and its sign; a value that rounds to zero has no minus sign."""
    # Adding 0.0 turns −0.0 into 0.0.
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def with_p(p: float) -> str:
    """``p = 0.123``, or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
