"""Summaries of a singular spectrum (``[K]``, largest first); all ranks of a zero spectrum are 0."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from nmrgcl.diagnose.units import to_unit_range

ROUNDING = 1e-6
"""Singular values below this share of the largest count as rounding errors, as embeddings are computed in float32."""


def entropy_rank(values: Tensor) -> float:
    """``exp(−Σ p log p)`` with ``p = σ / Σσ`` (Roy & Vetterli 2007)."""
    total = values.sum()
    if not total > 0:
        return 0.0
    share = values[values > 0] / total
    return float(torch.exp(-(share * share.log()).sum()))


def stable_rank(values: Tensor) -> float:
    """``Σσ² / σ₁²``: the total variance in units of that of the largest direction."""
    variance = _variance(values)
    return _ratio(variance.sum(), variance[:1].sum())


def participation_ratio(values: Tensor) -> float:
    """``(Σσ²)² / Σσ⁴``: k equal directions give k."""
    variance = _variance(values)
    return _ratio(variance.sum().square(), variance.square().sum())


def numerical_rank(values: Tensor) -> int:
    """``numpy.linalg.matrix_rank``: how many singular values are more than ``ROUNDING`` times the largest."""
    return int((values > ROUNDING * values[:1]).sum())


def variance_share(values: Tensor, k: int) -> float:
    """Share of the variance in the ``k`` largest directions."""
    variance = _variance(values)
    return _ratio(variance[:k].sum(), variance.sum())


def directions_for(values: Tensor, share: float) -> int:
    """The smallest number of directions that hold this ``share`` of the variance."""
    variance = _variance(values)
    if not variance.sum() > 0:
        return 0
    held = variance.cumsum(0) / variance.sum()
    # A running sum that reaches the share exactly may fall short of it by rounding.
    return int((held < share - 1e-12).sum()) + 1


def spectrum_decay(values: Tensor) -> float:
    """The power a of the law σ²ᵢ ∝ i^−a that fits the spectrum best (least squares of the logarithms).

    Singular values that count as rounding errors are left out; 0 if fewer than two remain. A flat spectrum has a = 0;
    representations are said to generalise best near a = 1 (Agrawal et al. 2022).
    """
    values = to_unit_range(values[: numerical_rank(values)].double())[0]
    if len(values) < 2:
        return 0.0
    # log σ² = 2 log σ.
    x, y = torch.arange(1, len(values) + 1, dtype=torch.float64).log(), 2 * values.cpu().log()
    x = x - x.mean()
    return -float((x @ (y - y.mean())) / (x @ x))


def filled_directions(values: Tensor, possible: int, empty: float) -> int:
    """How many of the ``possible`` directions exceed ``empty`` times the root mean square spread of all of them."""
    values, _ = to_unit_range(values[:possible])
    return int((values > empty * values.square().mean().sqrt()).sum())


def filled_by_noise(rows: int, width: int, empty: float) -> float:
    """The expected number of filled directions for Gaussian noise of the same shape."""
    square, weight = _noise_spectrum(rows, width)
    return min(rows - 1, width) * float(weight[np.sqrt(square) > empty].sum())


@lru_cache
def noise_rank(rows: int, width: int) -> float:
    """The expected effective rank of centred Gaussian noise ``[rows, width]``.

    This is the rank of embeddings without a preferred direction; it is below ``width`` if there are few rows.
    """
    square, weight = _noise_spectrum(rows, width)
    value = np.sqrt(square)
    mean = (weight * value).sum()
    # Of n values σ, p = σ / (n · mean), so that exp(−Σ p log p) = n · mean · exp(−E[σ log σ] / mean).
    return float(min(rows - 1, width) * mean * np.exp(-(weight * value * np.log(value)).sum() / mean))


@lru_cache
def _noise_spectrum(rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared singular values of Gaussian noise, scaled to mean 1, and their weights by the Marchenko–Pastur law."""
    # Centring takes one degree of freedom.
    degrees = rows - 1
    ratio = min(degrees, width) / max(degrees, width)
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    # A cosine grid is dense at both ends, where the density behaves like a square root.
    angle = (np.arange(2000) + 0.5) * np.pi / 2000
    square = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    # The density √((b − x)(x − a)) / x, times the width of a step of the grid, which is proportional to sin.
    weight = np.sqrt((high - square) * (square - low)) / square * np.sin(angle)
    return square, weight / weight.sum()


def _variance(values: Tensor) -> Tensor:
    return to_unit_range(values)[0].square()


def _ratio(part: Tensor, whole: Tensor) -> float:
    return float(part / whole) if whole > 0 else 0.0
