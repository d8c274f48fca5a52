"""Sums over the similarities of all pairs of rows without the matrix of all of them.

Tiles of the matrix are computed one after another, and again for the gradient, so that memory is linear in the rows.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from nmrgcl.ops import on_host

TILE, GPU_TILE = 2048, 8192
"""Rows and columns of a tile: 16 MB in float32, and 256 MB on a GPU, where each tile is a dozen launches."""
PLAIN = 30.0
"""Exponentials of up to this much, even 10¹² of them, can be added up in float32 as they are."""


def row_logsumexp(
    a: Tensor, b: Tensor, tau: float, *, without: tuple[int, ...] = (), bound: float = math.inf
) -> Tensor:
    """``[B]``: log Σ_j exp(a_i · b_j / tau) over the rows j of ``b``, except j = i + k for each k in ``without``.

    No similarity over tau is larger than ``bound``. If that is small, as 1 / tau of unit rows is, the largest one of
    each row need not be searched for, which saves half of the passes over a tile.
    """
    result: Tensor = _RowLogsumexp.apply(a, b, tau, without, bound <= PLAIN)
    return result


class _RowLogsumexp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, tau: float, without: tuple[int, ...], plain: bool) -> Tensor:
        a = a / tau
        total = a.new_full(a.shape[:1], 0.0 if plain else -torch.inf)
        for rows in parts(a):
            for columns in parts(b):
                tile = _tile(a, b, rows, columns, without)
                if plain:
                    total[rows] += tile.exp_().sum(1)
                else:
                    total[rows] = torch.logaddexp(total[rows], tile.logsumexp(1))
        total = total.log_() if plain else total
        ctx.save_for_backward(a, b, total)
        ctx.tau, ctx.without, ctx.plain = tau, without, plain
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        # With s_ij = a_i · b_j / τ, L_i = log Σ_j exp s_ij and g_i = ∂ℓ/∂L_i:
        #   P_ij = ∂L_i/∂s_ij = exp(s_ij − L_i),   ∂ℓ/∂a_i = g_i/τ Σ_j P_ij b_j,   ∂ℓ/∂b_j = Σ_i g_i P_ij a_i/τ.
        # Factors of a whole row, g_i and (if plain) exp(−L_i), are multiplied into a or the result, not into tiles.
        a, b, total = ctx.saved_tensors  # a is divided by τ already
        scale = (grads[0] * torch.exp(-total) if ctx.plain else grads[0])[:, None]
        of_a, of_b = (
            torch.zeros_like(z) if needed else None for z, needed in zip((a, b), ctx.needs_input_grad, strict=False)
        )
        weighted = a * scale if of_b is not None else a
        for rows in parts(a):
            for columns in parts(b):
                tile = _tile(a, b, rows, columns, ctx.without)
                share = (tile if ctx.plain else tile.sub_(total[rows, None])).exp_()
                if of_a is not None:
                    of_a[rows].addmm_(share, b[columns])
                if of_b is not None:
                    of_b[columns].addmm_(share.T, weighted[rows])
        return None if of_a is None else of_a.mul_(scale / ctx.tau), of_b, None, None, None


def pair_softplus(h: Tensor) -> Tensor:
    """Σ_ij softplus(h_i · h_j) over all pairs of rows, including i = j, in float64."""
    result: Tensor = _PairSoftplus.apply(h)
    return result


class _PairSoftplus(torch.autograd.Function):
    """The similarities are symmetric, so each tile serves its rows and its columns."""

    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        ctx.save_for_backward(h)
        total = h.new_zeros((), dtype=torch.float64)
        for rows, columns in upper_tiles(h):
            part = softplus(_products(h[rows], h[columns])).sum(dtype=torch.float64)
            total += part if rows == columns else 2 * part
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        # softplus' = σ, and h_k occurs in row k and in column k of the sum: ∂ℓ/∂h_k = 2 g Σ_j σ(h_k · h_j) h_j.
        (h,) = ctx.saved_tensors
        out = torch.zeros_like(h)
        for rows, columns in upper_tiles(h):
            share = _products(h[rows], h[columns]).sigmoid_()
            out[rows].addmm_(share, h[columns])
            if rows != columns:
                out[columns].addmm_(share.T, h[rows])
        return out.mul_(2 * grads[0].to(h.dtype))


def parts(z: Tensor) -> list[slice]:
    """The rows of ``z``, as many at a time as a tile has."""
    count, size = z.shape[0], TILE if on_host(z) else GPU_TILE
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def upper_tiles(z: Tensor) -> list[tuple[slice, slice]]:
    """Rows and columns of the tiles of a symmetric matrix that lie on or above its diagonal."""
    slices = parts(z)
    return [(rows, columns) for i, rows in enumerate(slices) for columns in slices[i:]]


def _tile(a: Tensor, b: Tensor, rows: slice, columns: slice, without: tuple[int, ...]) -> Tensor:
    tile = _products(a[rows], b[columns])
    for offset in without:
        tile = leave_out(tile, rows, columns, offset)
    return tile


def _products(a: Tensor, b: Tensor) -> Tensor:
    # Autocast would round products to bfloat16, of which thousands are then added up, and the gradients to another type
    # than that of the rows.
    with torch.autocast(a.device.type, enabled=False):
        return a @ b.T


def leave_out(tile: Tensor, rows: slice, columns: slice, offset: int) -> Tensor:
    """Write minus infinity where column − row is ``offset``, in place."""
    shift = rows.start + offset - columns.start
    if -tile.shape[0] < shift < tile.shape[1]:
        tile.diagonal(shift).fill_(-torch.inf)
    return tile
