"""Scaling of embeddings, with the same options in settings, ``GraphEmbedder`` and ``nmrgcl embed``."""

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from nmrgcl.errors import ModelError, SettingError, nearest

Normalise = Literal["none", "l2", "standardise", "squash"]
"""``l2``: each row has length 1. ``standardise``: each column has mean 0 and variance 1. ``squash``: the same, followed
by asinh, which shortens long tails."""
WORDS: tuple[Normalise, ...] = get_args(Normalise)
ROUNDING = 1e-6
"""A column counts as constant if it varies by less than this share of its largest value: embeddings are float32."""


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """``mean`` and ``scale`` ``[D]`` of embeddings; the scale is the standard deviation, or 1 for a constant column."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray) -> Self:
        """Measure the columns of ``z`` ``[B, D]``."""
        known = z.astype(np.float64)
        spread = known.std(0)
        constant = spread <= ROUNDING * np.abs(known).max(0, initial=0)
        return cls(known.mean(0), np.where(constant, 1.0, spread))

    def to_dict(self) -> dict[str, list[float]]:
        """Plain values."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], width: int) -> Self:
        """The inverse of ``to_dict`` for embeddings with ``width`` columns; raises ValueError for anything else."""
        mean, scale = (np.array(values[name], np.float64) for name in ("mean", "scale"))
        if mean.shape != (width,) or scale.shape != (width,):
            raise ValueError("the scale of embeddings has another number of columns")
        if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError("the scale of embeddings is not positive")
        return cls(mean, scale)


def normalised(z: np.ndarray, kind: Normalise, columns: ColumnScale | None) -> np.ndarray:
    """``z`` ``[B, D]`` on the given scale, with the same data type; rows of zeros stay zero under ``l2``."""
    require_word(kind)
    if kind == "none":
        return z
    if kind == "l2":
        length = np.linalg.norm(z.astype(np.float64), axis=1, keepdims=True)
        return (z / np.where(length == 0, 1.0, length)).astype(z.dtype)
    if columns is None:
        raise ModelError(
            f"normalise = {kind!r}: this model is from an earlier version, without the mean and variance of its "
            "embeddings; train it again, or use none or l2"
        )
    found = (z - columns.mean) / columns.scale
    return (np.arcsinh(found) if kind == "squash" else found).astype(z.dtype)


def require_word(kind: str, name: str = "normalise") -> Normalise:
    """Return ``kind`` if it is one of ``WORDS``; raise SettingError otherwise."""
    if kind not in WORDS:
        raise SettingError(f"{name} = {kind!r}; {nearest(str(kind), WORDS)}")
    return kind
