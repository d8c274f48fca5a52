"""Which dimensions of one view are removed for what the other view shows (Eq. 13 and its ablations).

A mask is computed from scores (the projection z, or the absolute representation |r|). No gradient flows through it,
except for ``learned``.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from nmrgcl.errors import SettingError, nearest
from nmrgcl.ops import widen


def scale_rows(scores: Tensor) -> Tensor:
    """Min-max scaling of each row to 0 … 1; a constant row becomes -1, from which nothing is removed."""
    scores = widen(scores)
    low, high = scores.amin(1, keepdim=True), scores.amax(1, keepdim=True)
    span = high - low
    # The inner `where` avoids 0 / 0; −1 is below every threshold δ ≥ 0.
    return torch.where(span > 0, (scores - low) / torch.where(span > 0, span, 1.0), -1.0)


def non_maximum(scores: Tensor, delta: float) -> Tensor:
    """Eq. 13: 0 where the scaled score exceeds ``delta``, else 1. ``delta`` ≥ 1 removes nothing.

    Example:
        >>> import torch
        >>> from nmrgcl import non_maximum
        >>> non_maximum(torch.tensor([[0.0, 5.0, 8.0, 10.0]]), 0.7)  # 8 and 10 exceed 0.7 of the way from 0 to 10
        tensor([[1., 1., 0., 0.]])
    """
    return (scale_rows(scores.detach()) <= delta).to(scores.dtype)


def non_minimum(scores: Tensor, delta: float) -> Tensor:
    """Remove the smallest scores of a row: as many as ``non_maximum`` would remove of the largest."""
    removed = (non_maximum(scores, delta) == 0).sum(1, keepdim=True)
    # Sorting the order gives ranks; the first sort is stable, so that ties are broken alike on every device.
    rank = scale_rows(scores.detach()).argsort(dim=1, stable=True).argsort(1)
    return (rank >= removed).to(scores.dtype)


def random(scores: Tensor, delta: float) -> Tensor:
    """The mask of ``non_maximum`` with each row shuffled: as many dimensions, chosen at random."""
    mask = non_maximum(scores, delta)
    # The order of random numbers is an even draw of a permutation, one for each row.
    return mask.gather(1, torch.rand(mask.shape, device=mask.device).argsort(1))


Masks = tuple[Tensor | None, Tensor | None]


def _none(first: Tensor, second: Tensor, delta: float, gate: Tensor | None) -> Masks:
    return None, None


def _both(first: Tensor, second: Tensor, delta: float, gate: Tensor | None) -> Masks:
    return non_maximum(second, delta), non_maximum(first, delta)


def _learned(first: Tensor, second: Tensor, delta: float, gate: Tensor | None) -> Masks:
    if gate is None:
        raise SettingError("removal = learned needs the gate that is trained with the encoder")
    return None, gate.sigmoid()


def _one_sided(mask: Callable[[Tensor, float], Tensor]) -> Callable[[Tensor, Tensor, float, Tensor | None], Masks]:
    return lambda first, second, delta, gate: (None, mask(first, delta))


REMOVALS: dict[str, Callable[[Tensor, Tensor, float, Tensor | None], Masks]] = {
    "none": _none,
    "non_maximum": _one_sided(non_maximum),
    "both": _both,
    "random": _one_sided(random),
    "non_minimum": _one_sided(non_minimum),
    "learned": _learned,
}


def removal_masks(kind: str, first: Tensor, second: Tensor, *, delta: float, gate: Tensor | None = None) -> Masks:
    """Masks for view 1 and view 2 from the scores of both (``[B, D]``); None means that nothing is removed.

    Example:
        >>> import torch
        >>> from nmrgcl import removal_masks
        >>> z1, z2 = torch.tensor([[0.0, 5.0, 10.0]]), torch.tensor([[10.0, 5.0, 0.0]])
        >>> removal_masks("non_maximum", z1, z2, delta=0.7)  # what view 1 shows most is removed from view 2
        (None, tensor([[1., 1., 0.]]))
    """
    if kind not in REMOVALS:
        raise SettingError(f"unknown removal {kind!r}; {nearest(kind, REMOVALS)}")
    return REMOVALS[kind](first, second, delta, gate)


def remove(values: Tensor, mask: Tensor | None) -> Tensor:
    """``values`` with the masked dimensions set to zero.

    Example:
        >>> import torch
        >>> from nmrgcl import remove
        >>> remove(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 1.0]]))
        tensor([[0., 4.]])
    """
    return values if mask is None else values * mask
