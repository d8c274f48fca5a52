"""The inverse of a Cholesky factor by recursive halving, which is nearly all batched matrix multiplication.

With A = L Lᵀ and R = L⁻¹, so that A⁻¹ = Rᵀ R, the halves of

    A = [ A₁  · ]    R = [ R₁            0  ]    M = A₂₁ R₁ᵀ,  R₂ of A₂ − M Mᵀ
        [ A₂₁ A₂ ]       [ −R₂ M R₁      R₂ ]

are halved in turn, down to blocks that a library factorises. Library routines for the whole matrix spend much of the
GPU's time on operations on single columns.
"""

import torch
from torch import Tensor

BLOCK = 128
"""Matrices of at most this many rows are not halved further."""


def inverse_root(systems: Tensor) -> Tensor:
    """R ``[B, n, n]``, lower triangular, for symmetric positive definite ``systems`` ``[B, n, n]``."""
    root = torch.zeros_like(systems)
    _fill(root, systems)
    return root


def _fill(root: Tensor, systems: Tensor) -> None:
    n = systems.shape[-1]
    if n <= BLOCK:
        # Unlike cholesky, it does not wait for the device to report a failure.
        factor = torch.linalg.cholesky_ex(systems).L
        unit = torch.eye(n, dtype=systems.dtype, device=systems.device).expand_as(systems)
        root.copy_(torch.linalg.solve_triangular(factor, unit, upper=False))
        return
    half = -(-n // (2 * BLOCK)) * BLOCK  # A multiple of the block size, so that few different sizes occur.
    first, second = root[:, :half, :half], root[:, half:, half:]
    _fill(first, systems[:, :half, :half])
    below = systems[:, half:, :half] @ first.mT
    _fill(second, torch.baddbmm(systems[:, half:, half:], below, below.mT, alpha=-1))
    root[:, half:, :half] = (second @ (below @ first)).neg_()
