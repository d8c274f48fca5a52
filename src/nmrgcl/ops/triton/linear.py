"""The backward pass of ReLU and of the bias before it, in one pass over large matrices."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops.triton.rows import column_sums

ROWS, UNITS, PROGRAMS = 32, 128, 1024
"""Rows and units of one tile, and the number of programs that share the tiles of a block of columns."""


def relu_back(grad: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """``grad`` where ``out`` is above zero, both ``[N, D]``, and the sum of its rows in float32, ``[D]``."""
    rows, width = out.shape
    tiles = triton.cdiv(rows, ROWS)
    share = triton.cdiv(tiles, PROGRAMS)
    passed, partial = torch.empty_like(out), torch.empty(triton.cdiv(tiles, share), width, device=out.device)
    columns = triton.cdiv(width, UNITS)
    _relu_back[(partial.shape[0] * columns,)](
        passed, partial, grad, out, rows, share,
        WIDTH=width, STRIDE=grad.stride(0), ROWS=ROWS, UNITS=UNITS, COLUMNS=columns,
    )  # fmt: skip
    return passed, column_sums(partial)


@triton.jit
def _relu_back(
    passed: tl.tensor, partial: tl.tensor, grad: tl.tensor, out: tl.tensor, rows: tl.tensor, share: tl.tensor,
    WIDTH: tl.constexpr, STRIDE: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: a block of columns of ``share`` tiles.

    Width and stride are compiled in: 600, say, is no multiple of 16, so the compiler would otherwise read number by
    number.
    """
    block, unit = (tl.program_id(0) // COLUMNS).to(tl.int64), tl.program_id(0) % COLUMNS * UNITS + tl.arange(0, UNITS)
    total = tl.zeros([UNITS], tl.float32)
    for tile in range(share):
        row = (block * share + tile) * ROWS + tl.arange(0, ROWS)
        there = (row < rows)[:, None] & (unit < WIDTH)[None, :]
        g = tl.load(grad + row[:, None] * STRIDE + unit[None, :], mask=there, other=0.0)
        is_open = tl.load(out + row[:, None] * WIDTH + unit[None, :], mask=there, other=0.0) > 0
        g = tl.where(is_open, g, 0.0)
        tl.store(passed + row[:, None] * WIDTH + unit[None, :], g, mask=there)
        total += tl.sum(g.to(tl.float32), 0)
    tl.store(partial + block * WIDTH + unit, total, mask=unit < WIDTH)
