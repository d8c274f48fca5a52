"""RBF kernels of many training sets at a time, in float64 on any device, equal to those of scikit-learn."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

Scaling = bool | Literal["squashed"]
"""Whether columns are scaled to mean 0 and variance 1; "squashed" also applies asinh, which shortens long tails."""

PaddedRows = tuple[Tensor, Tensor]
"""Row indices ``[F, n]``, padded where a fold has fewer rows, and a mask ``[F, n]`` of those that are not padding."""


def padded(parts: tuple[np.ndarray, ...], device: torch.device) -> PaddedRows:
    """Combine lists of row indices into one padded array."""
    length = max(map(len, parts))
    index = np.zeros((len(parts), length), np.int64)
    real = np.arange(length) < np.array([[len(part)] for part in parts])
    index[real] = np.concatenate(parts)
    return torch.from_numpy(index).to(device), torch.from_numpy(real).to(device)


def bytes_at_once(most: int, device: torch.device) -> int:
    """``most``, or less on a GPU with little free memory: computations on kernels take a few times their size."""
    return min(most, torch.cuda.mem_get_info(device)[0] // 6) if device.type == "cuda" else most


def scaled(known: Tensor, unknown: Tensor, real: Tensor, standardise: Scaling) -> tuple[Tensor, Tensor]:
    """Scale the columns of both as ``standardise`` says, using the statistics of the real rows of ``known``."""
    if not standardise:
        return known, unknown
    known, unknown = _standardised(known, unknown, real)
    return (known.asinh(), unknown.asinh()) if standardise == "squashed" else (known, unknown)


def _standardised(known: Tensor, unknown: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Like scikit-learn's StandardScaler, which only centres columns that are constant up to rounding."""
    count, weight, eps = real.sum(1)[:, None, None], real[..., None], torch.finfo(known.dtype).eps
    mean = (known * weight).sum(1, keepdim=True) / count
    variance = ((known - mean) * weight).square().sum(1, keepdim=True) / count
    constant = variance <= count * eps * variance + (count * mean * eps).square()
    scale = torch.where(constant, 1.0, variance.sqrt())
    return (known - mean) / scale, (unknown - mean) / scale


def rbf_kernels(known: Tensor, unknown: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """RBF kernels ``[F, n, n]`` and ``[F, m, n]`` with gamma="scale" of the known rows; zero for padded rows."""
    weight, count = real[..., None], real.sum(1)[:, None, None]
    width = known.shape[2]
    origin = (known * weight).sum(1, keepdim=True) / count
    overall = origin.mean(2, keepdim=True)
    variance = ((known - overall) * weight).square().sum((1, 2), keepdim=True) / (count * width)
    gamma = torch.where(variance > 0, 1 / (width * variance), 1.0)
    # The product below loses digits far from the origin.
    known, unknown = known - origin, unknown - origin
    kernel, kernel_test = (torch.exp(-gamma * _squared_distances(rows, known)) for rows in (known, unknown))
    kernel = kernel * (weight & real[:, None])
    # Exactly 1 despite rounding, and for padded rows too, so that the matrix stays positive definite.
    kernel.diagonal(dim1=1, dim2=2).fill_(1.0)
    return kernel, kernel_test * real[:, None]


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    lengths = a.square().sum(2)[:, :, None] + b.square().sum(2)[:, None]
    # |a|² + |b|² − 2 a · b of equal rows may be slightly negative.
    return torch.baddbmm(lengths, a, b.mT, alpha=-2).clamp_(min=0)
