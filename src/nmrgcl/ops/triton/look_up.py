"""Rows of a table by name, several added up; the backward pass does not sort the names."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.triton.rows import column_sums

ROWS, PROGRAMS = 32, 264
"""Rows of one tile, and the number of programs that share the tiles in the backward pass."""


def look_up(table: Tensor, names: Tensor) -> Tensor:
    """``[N, D]``: the sum of the rows of ``table`` ``[K, D]`` that each row of ``names`` ``[N, C]`` lists; -1: none."""
    rows, width = names.shape[0], table.shape[1]
    out = torch.empty(rows, width, dtype=table.dtype, device=table.device)
    units = min(triton.next_power_of_2(width), 128)
    _look_up[(triton.cdiv(rows, ROWS), triton.cdiv(width, units))](
        out, table, names, rows, width, names.stride(0), names.stride(1),
        NAMES=names.shape[1], ROWS=ROWS, UNITS=units,
    )  # fmt: skip
    return out


def look_up_gradient(grad: Tensor, names: Tensor, count: int) -> Tensor:
    """``[count, D]`` float32: for each name the sum of the rows of ``grad`` ``[N, D]`` that list it.

    Each program holds the result for a block of columns, so there should be no more than a few hundred names.
    """
    rows, width = grad.shape
    tiles = triton.cdiv(rows, ROWS)
    units = min(max(16, triton.next_power_of_2(width)), 32)
    blocks = triton.cdiv(width, units)
    share = triton.cdiv(tiles, max(1, PROGRAMS // blocks))
    partial = torch.empty(triton.cdiv(tiles, share), count, width, device=grad.device)
    _sum_by_name[(partial.shape[0], blocks)](
        partial, grad, names, rows, width, grad.stride(0), names.stride(0), names.stride(1), count, share,
        NAMES=names.shape[1], COUNT=max(16, triton.next_power_of_2(count)), ROWS=ROWS, UNITS=units,
    )  # fmt: skip
    return column_sums(partial.view(partial.shape[0], -1)).view(count, width)


def name_counts(names: Tensor, categories: int, dtype: torch.dtype) -> Tensor:
    """``[N, K]``: how often each row of ``names`` (``[N, C]``, integers; -1 is none) names each of ``categories``."""
    out = torch.empty(names.shape[0], categories, dtype=dtype, device=names.device)
    if out.numel():
        wide = triton.next_power_of_2(categories)
        rows = max(1, 2048 // wide)
        _count_names[(triton.cdiv(out.shape[0], rows),)](
            out, names, out.shape[0], categories, NAMES=names.shape[1], ROWS=rows, CATEGORIES=wide
        )
    return out


@triton.jit
def _look_up(
    out: tl.tensor, table: tl.tensor, names: tl.tensor, rows: tl.tensor, width: tl.tensor,
    row_stride: tl.tensor, name_stride: tl.tensor,
    NAMES: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one block of units of some rows."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    total = tl.zeros([ROWS, UNITS], tl.float32)
    for c in tl.static_range(NAMES):
        name = tl.load(names + row * row_stride + c * name_stride, mask=row < rows, other=-1)
        known = (name >= 0)[:, None] & (unit < width)[None, :]
        total += tl.load(table + name[:, None] * width + unit[None, :], mask=known, other=0.0).to(tl.float32)
    there = (row < rows)[:, None] & (unit < width)[None, :]
    tl.store(out + row[:, None] * width + unit[None, :], total, mask=there)


@triton.jit
def _sum_by_name(
    partial: tl.tensor, grad: tl.tensor, names: tl.tensor, rows: tl.tensor, width: tl.tensor, stride: tl.tensor,
    row_stride: tl.tensor, name_stride: tl.tensor, count: tl.tensor, share: tl.tensor,
    NAMES: tl.constexpr, COUNT: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: the one-hot form of its rows, transposed, times a block of the gradient's columns."""
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    every = tl.arange(0, COUNT)
    total = tl.zeros([COUNT, UNITS], tl.float32)
    for tile in range(share):
        row = (tl.program_id(0).to(tl.int64) * share + tile) * ROWS + tl.arange(0, ROWS)
        listed = tl.zeros([COUNT, ROWS], tl.float32)
        for c in tl.static_range(NAMES):
            name = tl.load(names + row * row_stride + c * name_stride, mask=row < rows, other=-1)
            listed += (name[None, :] == every[:, None]).to(tl.float32)
        there = (row < rows)[:, None] & (unit < width)[None, :]
        g = tl.load(grad + row[:, None] * stride + unit[None, :], mask=there, other=0.0).to(tl.float32)
        # TF32 would round the gradient before it is added up.
        total += tl.dot(listed, g, input_precision="ieee")
    place = (tl.program_id(0).to(tl.int64) * count + every)[:, None] * width + unit[None, :]
    tl.store(partial + place, total, mask=(every < count)[:, None] & (unit < width)[None, :])


@triton.jit
def _count_names(
    out: tl.tensor, names: tl.tensor, rows: tl.tensor, categories: tl.tensor,
    NAMES: tl.constexpr, ROWS: tl.constexpr, CATEGORIES: tl.constexpr,
) -> None:  # fmt: skip
    """One program: some rows."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    category, there = tl.arange(0, CATEGORIES), row < rows
    total = tl.zeros([ROWS, CATEGORIES], tl.float32)
    for c in tl.static_range(NAMES):
        name = tl.load(names + row * NAMES + c, mask=there, other=-1)
        total += (name[:, None] == category[None, :]).to(tl.float32)
    exists = there[:, None] & (category < categories)[None, :]
    tl.store(out + row[:, None] * categories + category[None, :], total.to(out.dtype.element_ty), mask=exists)
