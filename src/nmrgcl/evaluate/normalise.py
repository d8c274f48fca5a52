"""Embeddings brought to one scale: one set of words for settings, ``GraphEmbedder`` and ``nmrgcl embed``."""

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from nmrgcl.errors import ModelError, SettingError, nearest

Normalise = Literal["none", "l2", "standardise", "squash"]
"""``l2``: each row has length 1. ``standardise``: each column has mean 0 and variance 1. ``squash``: the same, and then
long tails are drawn in, by asinh."""
WORDS: tuple[Normalise, ...] = get_args(Normalise)
ROUNDING = 1e-6
"""A column that varies by less than this share of its largest value is constant: embeddings are in single precision."""


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """``mean`` and ``scale`` ``[D]`` of embeddings; the scale is the standard deviation, or 1 of a constant column."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray) -> Self:
        """By what the rows of ``z`` ``[B, D]`` are like."""
        known = z.astype(np.float64)
        spread = known.std(0)
        constant = spread <= ROUNDING * np.abs(known).max(0, initial=0)
        return cls(known.mean(0), np.where(constant, 1.0, spread))

    def to_dict(self) -> dict[str, list[float]]:
        """Plain values."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int) -> Self:
        """The inverse for embeddings of ``width`` columns; ValueError where something else is in ``values``."""
        mean, scale = (np.array(values[name], np.float64) for name in ("mean", "scale"))
        if mean.shape != (width,) or scale.shape != (width,):
            raise ValueError("the scale of embeddings has another number of columns")
        if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError("the scale of embeddings is not positive")
        return cls(mean, scale)


def normalised(z: np.ndarray, kind: Normalise, columns: ColumnScale | None) -> np.ndarray:
    """``z`` ``[B, D]`` on that scale, of the same type; a row of zeros has no direction, and stays one."""
    require_word(kind)
    if kind == "none":
        return z
    if kind == "l2":
        length = np.linalg.norm(z.astype(np.float64), axis=1, keepdims=True)
        return (z / np.where(length == 0, 1.0, length)).astype(z.dtype)
    if columns is None:
        raise ModelError(
            f"normalise = {kind!r}: this model is of an earlier version and does not know the mean and the variance of "
            "its embeddings; train it again, or use none or l2"
        )
    found = (z - columns.mean) / columns.scale
    return (np.arcsinh(found) if kind == "squash" else found).astype(z.dtype)


def require_word(kind: str, name: str = "normalise") -> Normalise:
    """``kind`` if it is one of ``WORDS``; any other is refused."""
    if kind not in WORDS:
        raise SettingError(f"{name} = {kind!r}; {nearest(str(kind), WORDS)}")
    return kind
