"""InfoNCE's sum over negatives: L_i = log Σ_j exp(z_i · z_j / τ) over the rows j of all other pairs.

Rows i and i + B of z (``[2B, D]``) are the two views of a graph and no negatives of each other.

The gradient is the same in every form. With s_ij = z_i · z_j / τ, g_i = ∂ℓ/∂L_i and P_ij = ∂L_i/∂s_ij =
exp(s_ij − L_i), row k of z occurs in s_kj and in s_jk, hence ∂ℓ/∂z_k = 1/τ Σ_j (g_k P_kj + g_j P_jk) z_j.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nmrgcl.ops import across_ranks, full_precision, serve
from nmrgcl.ops.forms import Form
from nmrgcl.ops.similarities import leave_out, row_logsumexp, upper_tiles

DENSE_ROWS = 4096
"""Above this many rows the similarity matrix is never held as a whole."""

PLAIN = Form("negatives", "plain", f"up to {DENSE_ROWS} rows")
TILES = Form("negatives", "tiles", f"above {DENSE_ROWS} rows, on a CPU or in float64")
KERNEL = Form("negatives", "Triton kernel", f"above {DENSE_ROWS} rows in float32, on a GPU")
FORMS = (PLAIN, TILES, KERNEL)


def negatives_logsumexp(z: Tensor, tau: float) -> Tensor:
    """``[2B]``: L_i, for z with rows of unit length."""
    if across_ranks.active():
        return _across_ranks(z, tau)
    if z.shape[0] <= DENSE_ROWS or not TILES.on:
        form: type[torch.autograd.Function] = _Matrix
    elif KERNEL.on and serve(z) and z.dtype == torch.float32:
        form = _Kernel
    else:
        form = _Tiles
    result: Tensor = form.apply(z, tau)
    return result


def _across_ranks(z: Tensor, tau: float) -> Tensor:
    """The rows of this rank's graphs against those of all ranks; no rank computes the similarities of others."""
    with full_precision(z):
        views = z.chunk(2)
        every = torch.cat([across_ranks.gather(view) for view in views])
        own = across_ranks.first_row(), across_ranks.first_row() + every.shape[0] // 2
        # Each view by itself: the two rows to be left out are then at the same distance from i for every row i.
        return torch.cat([row_logsumexp(view, every, tau, without=own, bound=1 / tau) for view in views])


class _Matrix(torch.autograd.Function):
    """One matrix is kept for the gradient: P, each row's shares in its sum."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        with full_precision(z):
            similarity = (z / tau) @ z.T
        rows, both = torch.arange(z.shape[0], device=z.device), z.shape[0]
        own_pair = torch.stack([rows, (rows + both // 2) % both], 1)
        # Everything in place: the similarities become P, and no second matrix of this size ever exists.
        share = similarity.scatter_(1, own_pair, -torch.inf)
        largest = share.amax(1, keepdim=True)
        total = share.sub_(largest).exp_().sum(1, keepdim=True)
        share.div_(total)
        ctx.save_for_backward(z, share)
        ctx.tau = tau
        return (total.log_() + largest).squeeze(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        z, share = ctx.saved_tensors
        on_similarity = share * (grads[0] / ctx.tau)[:, None]
        with full_precision(z):
            return (on_similarity + on_similarity.T) @ z, None


class _Tiles(torch.autograd.Function):
    """Tiles are computed again in the backward pass. As s is symmetric, each serves its rows and its columns."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        total = z.new_full(z.shape[:1], -torch.inf)
        for rows, columns in upper_tiles(z):
            tile = _negative_tile(z, rows, columns, tau)
            total[rows] = torch.logaddexp(total[rows], tile.logsumexp(1))
            if rows != columns:
                total[columns] = torch.logaddexp(total[columns], tile.logsumexp(0))
        ctx.save_for_backward(z, total)
        ctx.tau = tau
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        z, total = ctx.saved_tensors
        scale, out = grads[0] / ctx.tau, torch.zeros_like(z)
        for rows, columns in upper_tiles(z):
            tile = _negative_tile(z, rows, columns, ctx.tau)
            # Entry (i, j) of a tile belongs to i's sum and to j's: g_i P_ij + g_j P_ji.
            share = (tile - total[columns]).exp_().mul_(scale[columns])
            share.addcmul_(tile.sub_(total[rows, None]).exp_(), scale[rows, None])
            out[rows].addmm_(share, z[columns])
            if rows != columns:
                out[columns].addmm_(share.T, z[rows])
        return out, None


def _negative_tile(z: Tensor, rows: slice, columns: slice, tau: float) -> Tensor:
    """Similarities over tau, minus infinity for a row itself and for the other row of its pair."""
    half = z.shape[0] // 2
    tile = (z[rows] @ z[columns].T).div_(tau)
    for offset in (0, half, -half):
        tile = leave_out(tile, rows, columns, offset)
    return tile


class _Kernel(torch.autograd.Function):
    """``_Tiles`` on a GPU; ``ops/triton/negatives.py`` says how the gradient is computed."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, tau: float) -> Tensor:
        from nmrgcl.ops.triton import negatives

        # The backward pass computes the similarities again; with another precision they would no longer fit `total`.
        ctx.tau, ctx.precision = tau, kernel_precision()
        total = negatives.negatives_logsumexp(z, tau, precision=ctx.precision)
        ctx.save_for_backward(z, total)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        from nmrgcl.ops.triton import negatives

        z, total = ctx.saved_tensors
        return negatives.negatives_gradient(z, total, grads[0], ctx.tau, precision=ctx.precision), None


def kernel_precision() -> Literal["tf32x3", "tf32"]:
    """The precision of products in kernels, which follows PyTorch's setting for float32 products."""
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"
