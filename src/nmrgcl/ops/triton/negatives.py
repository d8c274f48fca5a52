"""InfoNCE's sum over negatives without the matrix of similarities: in tiles, computed again for the gradient."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
import triton
import triton.language as tl
from torch import Tensor

Precision = Literal["ieee", "tf32", "tf32x3"]
"""How similarities are computed: in float32; rounded to TF32; or as three TF32 products, which keep some 22 bits."""

UNITS = 32
"""Units of z that are multiplied at a time."""

MANY = 4096
"""Above this many rows tiles are large; below, large tiles would be too few to occupy the GPU."""

PANEL = 512
"""Columns whose weights exist at once in the backward pass."""


def negatives_logsumexp(z: Tensor, tau: float, *, precision: Precision = "ieee", across: bool = False) -> Tensor:
    """``[N]``: log Σ_j exp(z_i · z_j / tau) over the j that are neither i nor the other view of i's graph.

    Args:
        z: ``[N, D]`` float32, contiguous, rows of unit length; rows i and i + N/2 are the two views of a graph, and
            there are several graphs.
        tau: temperature.
        precision: of the similarities.
        across: sum over the rows of the other view only.
    """
    count, width = z.shape
    tile = _tile(count)
    blocks = triton.cdiv(count, tile)
    # If there are few rows, several programs share the columns of each block.
    share = tile * triton.cdiv(blocks, min(16, max(1, 1024 // blocks)))
    partial = torch.empty(triton.cdiv(count, share), count, device=z.device)
    _sum_negatives[(blocks, partial.shape[0])](
        partial, *_split(z, precision), count, width, 1 / tau, share, **_options(count, precision, across)
    )
    if partial.shape[0] == 1:
        return partial[0]
    total = torch.empty(count, device=z.device)
    _merge_shares[(triton.cdiv(count, 256),)](total, partial, count, SHARES=partial.shape[0], BLOCK=256)
    return total


def negatives_gradient(
    z: Tensor, total: Tensor, grad: Tensor, tau: float, *, precision: Precision = "ieee", across: bool = False
) -> Tensor:
    """``[N, D]`` the gradient of z, where ``total`` is the result of ``negatives_logsumexp`` and ``grad`` its gradient.

    It is Σ_j w_ij z_j with w_ij = (P_ij grad_i + P_ji grad_j) / tau and P_ij = exp(z_i · z_j / tau − total_i), which
    ``nmrgcl.ops.negatives`` derives. The kernel computes the weights of one panel of columns after another, PyTorch
    their products with z: a program that held rows of the gradient as well would have registers for small tiles only
    (H200, N = 16,384, D = 512, TF32: 10 ms, while the forward pass over the same tiles takes 1.5).
    """
    count, width = z.shape
    high, low = _split(z, precision)
    tile, in_parts = _tile(count), precision == "tf32x3" and count > MANY
    weights = torch.empty(count, min(PANEL, count), device=z.device)
    rests = torch.empty_like(weights) if in_parts else None
    adds_up = in_parts or count > PANEL
    out = torch.zeros_like(z) if adds_up else torch.empty_like(z)
    for first in range(0, count, PANEL):
        panel = weights[:, : min(PANEL, count - first)]
        rest = None if rests is None else rests[:, : panel.shape[1]]
        grid = (triton.cdiv(count, tile), triton.cdiv(panel.shape[1], tile))
        _weigh_negatives[grid](
            panel, rest, high, low, total, grad.contiguous(), count, width, 1 / tau, first, panel.shape[1],
            panel.stride(0), **_options(count, precision, across),
        )  # fmt: skip
        block = slice(first, first + PANEL)
        if rest is not None:
            # (panel + rest)(most + least) without rest · least, which is below the rounding of float32; small terms
            # come first.
            with _tf32():
                most, least = high[block].float(), low[block].float()
                out.addmm_(rest, most).addmm_(panel, least).addmm_(panel, most)
        elif adds_up:
            out.addmm_(panel, z[block])
        else:
            torch.mm(panel, z, out=out)
    return out


@contextmanager
def _tf32() -> Iterator[None]:
    """Multiply in TF32, which is exact for numbers that have no more bits than TF32 keeps."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _tile(count: int) -> int:
    return 128 if count > MANY else 64 if count > 1024 else 32


def _split(z: Tensor, precision: Precision) -> tuple[Tensor, Tensor]:
    """What to multiply: of many rows the first 11 bits, as many as TF32 keeps, and for full precision the next 11.

    Most of the time goes into reading tiles from the cache again and again. Numbers of 16 bits are half of what those
    of TF32 would be, and rows of unit length need no more range.
    """
    if precision == "ieee" or z.shape[0] <= MANY:
        return z, z
    high = z.half()
    return high, (z - high).half() if precision == "tf32x3" else high


def _options(count: int, precision: Precision, across: bool) -> dict[str, int | bool | str]:
    return {
        "ACROSS": across,
        "TILE": _tile(count),
        "UNITS": UNITS if precision == "ieee" or count <= MANY else 2 * UNITS,
        # For few rows the compiler splits numbers inside the kernel; for many that would take longer than the products.
        "SPLIT": precision == "tf32x3" and count > MANY,
        "PRECISION": "tf32" if precision == "tf32x3" and count > MANY else precision,
        "num_warps": 8 if count > MANY else 4,
        "num_stages": 3,
    }


@triton.jit
def _similarity(
    high: tl.tensor,
    low: tl.tensor,
    row: tl.tensor,
    column: tl.tensor,
    count: tl.tensor,
    width: tl.tensor,
    scale: tl.tensor,
    ACROSS: tl.constexpr,
    TILE: tl.constexpr,
    UNITS: tl.constexpr,
    SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """``[TILE, TILE]`` scaled inner products, ``UNITS`` at a time; minus infinity where the column is no negative."""
    tile = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, width, UNITS):
        unit = start + tl.arange(0, UNITS)
        inside = (unit < width)[None, :]
        left, is_left = row[:, None] * width + unit[None, :], (row < count)[:, None] & inside
        right, is_right = column[:, None] * width + unit[None, :], (column < count)[:, None] & inside
        a = tl.load(high + left, mask=is_left, other=0.0)
        b = tl.load(high + right, mask=is_right, other=0.0)
        if SPLIT:  # the product of both remainders is below the rounding of float32
            a_rest = tl.load(low + left, mask=is_left, other=0.0)
            b_rest = tl.load(low + right, mask=is_right, other=0.0)
            tile = tl.dot(a_rest, tl.trans(b), tile)
            tile = tl.dot(a, tl.trans(b_rest), tile)
        tile = tl.dot(a, tl.trans(b), tile, input_precision=PRECISION)
    apart = tl.abs(row[:, None] - column[None, :])
    negative = (apart != 0) & (apart * 2 != count) & (column < count)[None, :]
    if ACROSS:
        negative = negative & ((row * 2 < count)[:, None] != (column * 2 < count)[None, :])
    return tl.where(negative, tile * scale, float("-inf"))


@triton.jit
def _sum_negatives(
    partial: tl.tensor,
    high: tl.tensor,
    low: tl.tensor,
    count: tl.tensor,
    width: tl.tensor,
    scale: tl.tensor,
    share: tl.tensor,
    ACROSS: tl.constexpr,
    TILE: tl.constexpr,
    UNITS: tl.constexpr,
    SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """One program goes through ``share`` columns for ``TILE`` rows, with a running maximum and sum for each row."""
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    begin = tl.program_id(1).to(tl.int64) * share
    most = tl.full([TILE], float("-inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    for start in range(begin, tl.minimum(begin + share, count), TILE):
        column = start + tl.arange(0, TILE)
        tile = _similarity(high, low, row, column, count, width, scale, ACROSS, TILE, UNITS, SPLIT, PRECISION)
        higher = tl.maximum(most, tl.max(tile, 1))
        # As long as all are minus infinity, any finite base will do.
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(most - base) + tl.sum(tl.exp(tile - base[:, None]), 1)
        most = higher
    found = most + tl.log(tl.where(total > 0, total, 1.0))
    tl.store(partial + tl.program_id(1).to(tl.int64) * count + row, found, mask=row < count)


@triton.jit
def _merge_shares(
    total: tl.tensor, partial: tl.tensor, count: tl.tensor, SHARES: tl.constexpr, BLOCK: tl.constexpr
) -> None:
    """One program: the logarithm of the sum of all shares, for some rows."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = row < count
    most = tl.full([BLOCK], float("-inf"), tl.float32)
    for share in tl.static_range(SHARES):
        most = tl.maximum(most, tl.load(partial + share * count + row, mask=there, other=0.0))
    found = tl.zeros([BLOCK], tl.float32)
    for share in tl.static_range(SHARES):
        found += tl.exp(tl.load(partial + share * count + row, mask=there, other=0.0) - most)
    tl.store(total + row, most + tl.log(found), mask=there)


@triton.jit(do_not_specialize=["first"])
def _weigh_negatives(
    panel: tl.tensor,
    rest: tl.tensor,
    high: tl.tensor,
    low: tl.tensor,
    total: tl.tensor,
    grad: tl.tensor,
    count: tl.tensor,
    width: tl.tensor,
    scale: tl.tensor,
    first: tl.tensor,
    columns: tl.tensor,
    stride: tl.tensor,
    ACROSS: tl.constexpr,
    TILE: tl.constexpr,
    UNITS: tl.constexpr,
    SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """One program: one tile of a panel of weights, which starts at column ``first`` of all.

    Similarity is symmetric: one tile of it gives the share of j in i's sum and that of i in j's.
    """
    row = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    place = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = first.to(tl.int64) + place
    tile = _similarity(high, low, row, column, count, width, scale, ACROSS, TILE, UNITS, SPLIT, PRECISION)
    is_row, is_column = row < count, column < count
    weight = tl.exp(tile - tl.load(total + row, mask=is_row, other=0.0)[:, None])
    weight *= tl.load(grad + row, mask=is_row, other=0.0)[:, None]
    other = tl.exp(tile - tl.load(total + column, mask=is_column, other=0.0)[None, :])
    weight += other * tl.load(grad + column, mask=is_column, other=0.0)[None, :]
    there = is_row[:, None] & (place < columns)[None, :]
    weight *= scale
    if SPLIT:  # what TF32 keeps, and the remainder
        # The mask clears the last 13 of the 23 bits of the mantissa.
        kept = (weight.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        tl.store(rest + row[:, None] * stride + place[None, :], weight - kept, mask=there)
        weight = kept
    tl.store(panel + row[:, None] * stride + place[None, :], weight, mask=there)
