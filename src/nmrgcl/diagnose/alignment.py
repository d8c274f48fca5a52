"""Alignment of two views of the same rows, uniformity on the sphere, and overlap of prominent dimensions."""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

BLOCK = 2048
"""How many rows are compared with all others at a time, which limits memory."""


def alignment(first: Tensor, second: Tensor) -> float:
    """Mean squared distance between the two views of a row on the unit sphere: 0 … 4 (Wang & Isola 2020)."""
    return float((_on_sphere(first) - _on_sphere(second)).square().sum(1).mean())


def uniformity(z: Tensor) -> float:
    """``log mean exp(−2‖zᵢ − zⱼ‖²)`` over pairs of different rows on the unit sphere: −8 … 0 (Wang & Isola 2020)."""
    unit = _on_sphere(z)
    rows = len(unit)
    if rows < 2:
        return 0.0
    # ‖a − b‖² by inner products. A row's distance to itself is masked rather than subtracted, which would cancel.
    square = unit.square().sum(1)
    totals = []
    for start in range(0, rows, BLOCK):
        own = torch.arange(start, min(start + BLOCK, rows), device=z.device)
        distance = square[own, None] + square - 2 * unit[own] @ unit.T
        distance[own - start, own] = torch.inf
        # Rounding may leave the distance of equal rows slightly negative.
        totals.append(torch.logsumexp((-2 * distance.clamp(min=0)).flatten(), 0))
    return float(torch.logsumexp(torch.stack(totals), 0)) - math.log(rows * (rows - 1))


def prominent(z: Tensor, delta: float = 0.7) -> Tensor:
    """``[B, D]`` whether an entry exceeds ``delta`` after scaling its row to 0 … 1 (Eq. 13); never in constant rows."""
    z = z.double()
    low, high = z.amin(1, keepdim=True), z.amax(1, keepdim=True)
    # Not divided by the span, which is zero in a constant row.
    return z - low > delta * (high - low)


def prominent_overlap(first: Tensor, second: Tensor, delta: float = 0.7) -> float:
    """Jaccard overlap of the prominent dimensions of a row's two views, averaged over rows.

    Rows without prominent dimensions in either view are ignored; 0 if that is true of all rows.
    """
    one, two = prominent(first, delta), prominent(second, delta)
    either = (one | two).sum(1)
    shared = (one & two).sum(1)[either > 0] / either[either > 0]
    return float(shared.double().mean()) if len(shared) else 0.0


def _on_sphere(z: Tensor) -> Tensor:
    return normalize(z.double(), dim=1, eps=1e-12)
