"""The perceptron of a narrow GIN layer, whole, in one launch forward and one back.

``y = ReLU(ReLU(s W1ᵀ + b1) W2ᵀ + b2)`` with the statistics that the batch norm after it needs; backwards the pull of
that norm comes first. As products, biases and ReLUs of their own these are some thirty launches a layer, which for a
few thousand rows of 32 units cost far more than what they compute.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.kernels.norm import pulled_back, standardise, store_statistics, tile_rows

NARROWEST, WIDEST = 16, 64
"""Units for which a program can hold the weights and a tile of rows."""

ROWS = 64
"""Rows of a tile."""

PROGRAMS = 264
"""Programs that divide the tiles of the backward pass among them (two for each multiprocessor of an H200): each has
its own sums for the weights' gradients.
"""


@dataclass(frozen=True)
class Weights:
    """Of both maps, ``[units, units]`` and ``[units]``; without ``first`` its place is taken by the identity."""

    first: Tensor | None
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor

    @property
    def options(self) -> dict[str, int | bool | str]:
        """What the kernels are compiled for."""
        return {
            "FIRST": self.first is not None,
            "WIDTH": triton.next_power_of_2(self.second.shape[0]),
            "ROWS": ROWS,
            "PRECISION": "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32",
            "num_warps": 4,
        }


def perceive(s: Tensor, weights: Weights, keep: Tensor | None, split: Tensor | None) -> tuple[Tensor, Tensor]:
    """``y`` and the blocks that ``nmrgcl.kernels.norm.merge_statistics`` takes."""
    rows, width = s.shape
    groups = 1 if split is None else 2
    y, partial = torch.empty_like(s), torch.empty(triton.cdiv(rows, ROWS), groups, 3, width, device=s.device)
    _perceive[(partial.shape[0],)](
        y, partial, s, keep, split, weights.first, weights.first_bias, weights.second, weights.second_bias, rows, width,
        KEPT=keep is not None, GROUPS=groups, **weights.options,
    )  # fmt: skip
    return y, partial


def perceive_back(
    grad: Tensor, y: Tensor, s: Tensor, weights: Weights, keep: Tensor | None, split: Tensor | None,
    statistics: Tensor, sums: Tensor, scale: Tensor, eps: float,
) -> tuple[Tensor, Weights]:  # fmt: skip
    """The gradients of ``s`` and of the weights, from that of the norm of ``y`` with weight ``scale``.

    ``grad`` may be a block of columns of a wider matrix; ``sums`` comes from ``nmrgcl.kernels.norm.gradient_sums``.
    """
    rows, width = s.shape
    tiles = triton.cdiv(rows, ROWS)
    share = triton.cdiv(tiles, PROGRAMS)
    sizes = [width * width if weights.first is not None else 0, width, width * width, width]
    out, partial = torch.empty_like(s), torch.empty(triton.cdiv(tiles, share), sum(sizes), device=s.device)
    _perceive_back[(partial.shape[0],)](
        out, partial, grad, y, s, keep, split, weights.first, weights.first_bias, weights.second, statistics, sums,
        scale, eps, rows, width, grad.stride(0), partial.stride(0), share,
        KEPT=keep is not None, GROUPS=statistics.shape[0], **weights.options,
    )  # fmt: skip
    first, first_bias, second, second_bias = partial.sum(0).split(sizes)
    square = (width, width)
    has_first = weights.first is not None
    return out, Weights(first.view(square) if has_first else None, first_bias, second.view(square), second_bias)


@triton.jit
def _matrix(start: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> tl.tensor:
    """``[out, in]``, with zeros where there are fewer units than ``WIDTH``."""
    unit = tl.arange(0, WIDTH)
    exists = (unit < width)[:, None] & (unit < width)[None, :]
    return tl.load(start + unit[:, None] * width + unit[None, :], mask=exists, other=0.0)


@triton.jit
def _vector(start: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> tl.tensor:
    unit = tl.arange(0, WIDTH)
    return tl.load(start + unit, mask=unit < width, other=0.0)


@triton.jit
def _perceive(
    y: tl.tensor, partial: tl.tensor, s: tl.tensor, keep: tl.tensor, split: tl.tensor,
    first: tl.tensor, first_bias: tl.tensor, second: tl.tensor, second_bias: tl.tensor,
    rows: tl.tensor, width: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, FIRST: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one tile of rows."""
    row, place, exists = tile_rows(rows, width, width, ROWS, WIDTH)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    values = tl.load(s + place, mask=exists, other=0.0)
    if FIRST:
        values = tl.dot(values, tl.trans(_matrix(first, width, WIDTH)), input_precision=PRECISION)
    values = tl.maximum(values + _vector(first_bias, width, WIDTH)[None, :], 0.0)
    values = tl.dot(values, tl.trans(_matrix(second, width, WIDTH)), input_precision=PRECISION)
    values = tl.maximum(values + _vector(second_bias, width, WIDTH)[None, :], 0.0)
    tl.store(y + place, values, mask=exists)
    store_statistics(partial, values, kept, row, split, width, GROUPS, WIDTH)


@triton.jit
def _perceive_back(
    out: tl.tensor, partial: tl.tensor, grad: tl.tensor, y: tl.tensor, s: tl.tensor, keep: tl.tensor, split: tl.tensor,
    first: tl.tensor, first_bias: tl.tensor, second: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    scale: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor, stride: tl.tensor, room: tl.tensor,
    share: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, FIRST: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:  # fmt: skip
    """One program: ``share`` tiles of rows, and their sums for the gradients of the weights."""
    unit = tl.arange(0, WIDTH)
    inside = unit < width
    to_second, bias = _matrix(second, width, WIDTH), _vector(first_bias, width, WIDTH)
    of_first, of_second = tl.zeros([WIDTH, WIDTH], tl.float32), tl.zeros([WIDTH, WIDTH], tl.float32)
    of_first_bias, of_second_bias = tl.zeros([WIDTH], tl.float32), tl.zeros([WIDTH], tl.float32)
    for tile in range(share):
        row = (tl.program_id(0).to(tl.int64) * share + tile) * ROWS + tl.arange(0, ROWS)
        place = row[:, None] * width + unit[None, :]
        exists = (row < rows)[:, None] & inside[None, :]
        kept = (row < rows).to(tl.float32)
        if KEPT:
            kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
        g = tl.load(grad + row[:, None] * stride + unit[None, :], mask=exists, other=0.0)
        values = tl.load(y + place, mask=exists, other=0.0)
        standard, rstd = standardise(values, statistics, row, split, width, eps, GROUPS, WIDTH)
        g = pulled_back(g, standard, rstd, kept, statistics, sums, scale, row, split, width, GROUPS, WIDTH)
        g = tl.where((values > 0) & exists, g, 0.0)
        before = tl.load(s + place, mask=exists, other=0.0)
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
    square, there = unit[:, None] * width + unit[None, :], inside[:, None] & inside[None, :]
    start = partial + tl.program_id(0).to(tl.int64) * room
    if FIRST:
        tl.store(start + square, of_first, mask=there)
        start += width * width
    tl.store(start + unit, of_first_bias, mask=inside)
    tl.store(start + width + square, of_second, mask=there)
    tl.store(start + width + width * width + unit, of_second_bias, mask=inside)
