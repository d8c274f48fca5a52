"""The perceptron of a narrow GIN layer, and the statistics of its batch norm, in one launch forwards and one backwards.

``y = ReLU(ReLU(s W1ᵀ + b1) W2ᵀ + b2)``. As separate products, biases and ReLUs that would be some thirty launches per
layer, which take far longer than what they compute on a few thousand rows of 32 units.

Backwards, with t = ReLU(s W1ᵀ + b1) computed again from s, G the gradient of the norm's input
(``batch_norm.pulled_back``) where y > 0, else 0, and T = G W2 where t > 0, else 0:

    ∂L/∂W2 = Gᵀ t    ∂L/∂b2 = Σ_i G_i    ∂L/∂W1 = Tᵀ s    ∂L/∂b1 = Σ_i T_i    ∂L/∂s = T W1
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.triton.batch_norm import groups_of, pulled_back, standardise, store_statistics, tile_of
from nmrgcl.ops.triton.rows import column_sums

PROGRAMS = 528
"""Programs that share the tiles of the backward pass, four per multiprocessor of an H200. Each keeps its own sums for
the gradients of the weights.
"""


@dataclass(frozen=True)
class Weights:
    """The weights of both maps, ``[units, units]`` and ``[units]``; without ``first`` the first map is the identity."""

    first: Tensor | None
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor

    def options(self, *, backward: bool) -> dict[str, int | bool | str]:
        """Constants that the kernels are compiled with; tile sizes were measured on an H200 with 9,000 rows of 32."""
        width = triton.next_power_of_2(self.second.shape[0])
        return {
            "FIRST": self.first is not None,
            "WIDTH": width,
            "ROWS": 32 if backward else 64,
            # Full precision is three TF32 products on tensor cores, twice as fast as one product without them.
            "PRECISION": "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32",
            "num_warps": 2 if backward else 4,
        }


def layer_with_statistics(
    s: Tensor, weights: Weights, keep: Tensor | None, split: Tensor | None
) -> tuple[Tensor, Tensor]:
    """``y`` of a layer, and the statistics of blocks of its rows, which ``batch_norm.merge_statistics`` takes."""
    rows, width = s.shape
    groups, options = 1 if split is None else 2, weights.options(backward=False)
    y, partial = torch.empty_like(s), torch.empty(triton.cdiv(rows, options["ROWS"]), groups, 3, width, device=s.device)
    _layer_kernel[(partial.shape[0],)](
        y, partial, s, keep, split, weights.first, weights.first_bias, weights.second, weights.second_bias,
        rows, width, s.stride(0), KEPT=keep is not None, GROUPS=groups, **options,
    )  # fmt: skip
    return y, partial


def layer_back(
    grad: Tensor, y: Tensor, s: Tensor, weights: Weights, keep: Tensor | None, split: Tensor | None,
    statistics: Tensor, sums: Tensor, scale: Tensor, eps: float,
) -> tuple[Tensor, Weights]:  # fmt: skip
    """The gradients of ``s`` and of the weights, from that of the norm of ``y``; ``scale`` is the norm's weight.

    ``grad`` may be a block of columns of a wider matrix; ``sums`` comes from ``batch_norm.gradient_sums``.
    """
    rows, width = s.shape
    options = weights.options(backward=True)
    tiles = triton.cdiv(rows, options["ROWS"])
    share = triton.cdiv(tiles, PROGRAMS)
    has_first, square = weights.first is not None, (width, width)
    sizes = [width * width if has_first else 0, width, width * width, width]
    out = torch.empty(s.shape, device=s.device)
    partial = torch.empty(triton.cdiv(tiles, share), sum(sizes), device=s.device)
    _layer_back_kernel[(partial.shape[0],)](
        out, partial, grad, y, s, keep, split, weights.first, weights.first_bias, weights.second, statistics, sums,
        scale, eps, rows, width, s.stride(0), grad.stride(0), partial.stride(0), share,
        KEPT=keep is not None, GROUPS=1 if split is None else 2, **options,
    )  # fmt: skip
    first, first_bias, second, second_bias = column_sums(partial).split(sizes)
    return out, Weights(first.view(square) if has_first else None, first_bias, second.view(square), second_bias)


@triton.jit
def _matrix(start: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> tl.tensor:
    """``[out, in]``, filled up with zeros to ``WIDTH``."""
    unit = tl.arange(0, WIDTH)
    exists = (unit < width)[:, None] & (unit < width)[None, :]
    return tl.load(start + unit[:, None] * width + unit[None, :], mask=exists, other=0.0)


@triton.jit
def _vector(start: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> tl.tensor:
    unit = tl.arange(0, WIDTH)
    return tl.load(start + unit, mask=unit < width, other=0.0)


@triton.jit
def _layer_kernel(
    y: tl.tensor, partial: tl.tensor, s: tl.tensor, keep: tl.tensor, split: tl.tensor,
    first: tl.tensor, first_bias: tl.tensor, second: tl.tensor, second_bias: tl.tensor,
    rows: tl.tensor, width: tl.tensor, s_stride: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, FIRST: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one tile of rows."""
    row, unit, exists = tile_of(rows, width, ROWS, WIDTH, 1)
    values = tl.load(s + row[:, None] * s_stride + unit[None, :], mask=exists, other=0.0)
    if FIRST:
        values = tl.dot(values, tl.trans(_matrix(first, width, WIDTH)), input_precision=PRECISION)
    values = tl.maximum(values + _vector(first_bias, width, WIDTH)[None, :], 0.0)
    values = tl.dot(values, tl.trans(_matrix(second, width, WIDTH)), input_precision=PRECISION)
    values = tl.maximum(values + _vector(second_bias, width, WIDTH)[None, :], 0.0)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    store_statistics(partial, values, kept, row, unit, split, width, GROUPS, 1)
    tl.store(y + row[:, None] * width + unit[None, :], values, mask=exists)


@triton.jit
def _layer_back_kernel(
    out: tl.tensor, partial: tl.tensor, grad: tl.tensor, y: tl.tensor, s: tl.tensor, keep: tl.tensor, split: tl.tensor,
    first: tl.tensor, first_bias: tl.tensor, second: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    scale: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor, s_stride: tl.tensor, stride: tl.tensor,
    room: tl.tensor, share: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, FIRST: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:  # fmt: skip
    """One program: ``share`` tiles of rows, and the sums over them that the gradients of the weights are made of."""
    unit = tl.arange(0, WIDTH)
    inside = unit < width
    to_second, bias = _matrix(second, width, WIDTH), _vector(first_bias, width, WIDTH)
    of_first, of_second = tl.zeros([WIDTH, WIDTH], tl.float32), tl.zeros([WIDTH, WIDTH], tl.float32)
    of_first_bias, of_second_bias = tl.zeros([WIDTH], tl.float32), tl.zeros([WIDTH], tl.float32)
    for tile in range(share):
        row = (tl.program_id(0).to(tl.int64) * share + tile) * ROWS + tl.arange(0, ROWS)
        place = row[:, None] * width + unit[None, :]
        exists = (row < rows)[:, None] & inside[None, :]
        g = tl.load(grad + row[:, None] * stride + unit[None, :], mask=exists, other=0.0)
        kept = (row < rows).to(tl.float32)
        if KEPT:
            kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
        values = tl.load(y + place, mask=exists, other=0.0)
        group, present = groups_of(row, split, GROUPS)
        first_group, above = tl.min(group, 0), g
        for number in range(first_group, first_group + present):
            standard, rstd = standardise(values, statistics, number, unit, width, eps)
            mine = pulled_back(above, standard, rstd, kept, statistics, sums, scale, number, unit, width)
            g = tl.where((group == number)[:, None], mine, g)
        g = tl.where((values > 0) & exists, g, 0.0)
        # t is computed again from s: keeping it would mean another [N, P] matrix to write and to read.
        before = tl.load(s + row[:, None] * s_stride + unit[None, :], mask=exists, other=0.0)
        hidden = before
        if FIRST:
            hidden = tl.dot(before, tl.trans(_matrix(first, width, WIDTH)), input_precision=PRECISION)
        hidden = tl.maximum(hidden + bias[None, :], 0.0)
        of_second += tl.dot(tl.trans(g), hidden, input_precision=PRECISION)
        of_second_bias += tl.sum(g, 0)
        g = tl.where(hidden > 0, tl.dot(g, to_second, input_precision=PRECISION), 0.0)
        of_first_bias += tl.sum(g, 0)
        if FIRST:
            of_first += tl.dot(tl.trans(g), before, input_precision=PRECISION)
            g = tl.dot(g, _matrix(first, width, WIDTH), input_precision=PRECISION)
        tl.store(out + place, g, mask=exists)
    # Each program stores sums of its own, which column_sums adds up afterwards. Without atomics results repeat bit for
    # bit.
    square, there = unit[:, None] * width + unit[None, :], inside[:, None] & inside[None, :]
    start = partial + tl.program_id(0).to(tl.int64) * room
    if FIRST:
        tl.store(start + square, of_first, mask=there)
        start += width * width
    tl.store(start + unit, of_first_bias, mask=inside)
    tl.store(start + width + square, of_second, mask=there)
    tl.store(start + width + width * width + unit, of_second_bias, mask=inside)
