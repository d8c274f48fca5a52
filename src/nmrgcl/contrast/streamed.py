"""Sums over similarities of all pairs, in tiles that are computed again for the gradient: memory linear in the rows."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

TILE, GPU_TILE = 2048, 8192
"""Rows and columns of a tile: 16 MB in float32, on a GPU, where each tile is a dozen launches, 256."""
PLAIN = 30.0
"""Exponentials of so much, a million million of them, can be added up in float32 as they are."""


def pair_logsumexp(z: Tensor, tau: float) -> Tensor:
    """``[2B]``: log Σ_j exp(z_i · z_j / tau) over the rows j of other pairs; rows i and i + B are a pair.

    The similarities are symmetric, so each tile serves its rows and its columns.
    """
    total = z.new_full(z.shape[:1], -torch.inf)
    for rows, columns in _upper_tiles(z):
        tile = _pair_tile(z, rows, columns, tau)
        total[rows] = torch.logaddexp(total[rows], tile.logsumexp(1))
        if rows != columns:
            total[columns] = torch.logaddexp(total[columns], tile.logsumexp(0))
    return total


def pair_gradient(z: Tensor, total: Tensor, grad: Tensor, tau: float) -> Tensor:
    """``[2B, D]``: the gradient of ``pair_logsumexp``, whose result is ``total``; ``grad`` (``[2B]``) is that of it."""
    scale, out = grad / tau, torch.zeros_like(z)
    for rows, columns in _upper_tiles(z):
        tile = _pair_tile(z, rows, columns, tau)
        share = (tile - total[columns]).exp_().mul_(scale[columns])
        share.addcmul_(tile.sub_(total[rows, None]).exp_(), scale[rows, None])
        out[rows].addmm_(share, z[columns])
        if rows != columns:
            out[columns].addmm_(share.T, z[rows])
    return out


def row_logsumexp(a: Tensor, b: Tensor, tau: float, *, without_own: bool = False, bound: float = math.inf) -> Tensor:
    """``[B]``: log Σ_j exp(a_i · b_j / tau), over all rows j of ``b`` or ``without_own`` row i.

    No similarity over tau is larger than ``bound``: a small one, as 1 / tau of unit rows is, spares the search for
    the largest of each row and half of the passes over a tile.
    """
    result: Tensor = _RowLogsumexp.apply(a, b, tau, without_own, bound <= PLAIN)
    return result


class _RowLogsumexp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, tau: float, without_own: bool, plain: bool) -> Tensor:
        a = a / tau
        total = a.new_full(a.shape[:1], 0.0 if plain else -torch.inf)
        for rows in _parts(a):
            for columns in _parts(b):
                tile = _tile(a, b, rows, columns, without_own)
                if plain:
                    total[rows] += tile.exp_().sum(1)
                else:
                    total[rows] = torch.logaddexp(total[rows], tile.logsumexp(1))
        total = total.log_() if plain else total
        ctx.save_for_backward(a, b, total)
        ctx.tau, ctx.without_own, ctx.plain = tau, without_own, plain
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        """Whatever belongs to a whole row is multiplied in before or after the products, not into the tiles."""
        a, b, total = ctx.saved_tensors
        scale = (grads[0] * torch.exp(-total) if ctx.plain else grads[0])[:, None]
        of_a, of_b = (
            torch.zeros_like(z) if needed else None for z, needed in zip((a, b), ctx.needs_input_grad, strict=False)
        )
        weighted = a * scale if of_b is not None else a
        for rows in _parts(a):
            for columns in _parts(b):
                tile = _tile(a, b, rows, columns, ctx.without_own)
                share = (tile if ctx.plain else tile.sub_(total[rows, None])).exp_()
                if of_a is not None:
                    of_a[rows].addmm_(share, b[columns])
                if of_b is not None:
                    of_b[columns].addmm_(share.T, weighted[rows])
        return None if of_a is None else of_a.mul_(scale / ctx.tau), of_b, None, None, None


def pair_softplus(h: Tensor) -> Tensor:
    """Σ_ij softplus(h_i · h_j) over all pairs of rows, i = j among them, in float64."""
    result: Tensor = _PairSoftplus.apply(h)
    return result


class _PairSoftplus(torch.autograd.Function):
    """The similarities are symmetric, so each tile serves its rows and its columns."""

    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        ctx.save_for_backward(h)
        total = h.new_zeros((), dtype=torch.float64)
        for rows, columns in _upper_tiles(h):
            part = softplus(h[rows] @ h[columns].T).sum(dtype=torch.float64)
            total += part if rows == columns else 2 * part
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (h,) = ctx.saved_tensors
        out = torch.zeros_like(h)
        for rows, columns in _upper_tiles(h):
            share = (h[rows] @ h[columns].T).sigmoid_()
            out[rows].addmm_(share, h[columns])
            if rows != columns:
                out[columns].addmm_(share.T, h[rows])
        return out.mul_(2 * grads[0].to(h.dtype))


def _parts(z: Tensor) -> list[slice]:
    count, size = z.shape[0], GPU_TILE if z.is_cuda else TILE
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _upper_tiles(z: Tensor) -> list[tuple[slice, slice]]:
    parts = _parts(z)
    return [(rows, columns) for i, rows in enumerate(parts) for columns in parts[i:]]


def _tile(a: Tensor, b: Tensor, rows: slice, columns: slice, without_own: bool) -> Tensor:
    tile = a[rows] @ b[columns].T
    return _without(tile, rows, columns, 0) if without_own else tile


def _pair_tile(z: Tensor, rows: slice, columns: slice, tau: float) -> Tensor:
    """A tile in which neither a row itself nor the other row of its pair takes part."""
    half = z.shape[0] // 2
    tile = (z[rows] @ z[columns].T).div_(tau)
    for offset in (0, half, -half):
        tile = _without(tile, rows, columns, offset)
    return tile


def _without(tile: Tensor, rows: slice, columns: slice, offset: int) -> Tensor:
    """Minus infinity where column − row is ``offset``, in place."""
    shift = rows.start + offset - columns.start
    if -tile.shape[0] < shift < tile.shape[1]:
        tile.diagonal(shift).fill_(-torch.inf)
    return tile
