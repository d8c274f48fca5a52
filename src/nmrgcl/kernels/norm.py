"""Batch norm over the kept rows in three launches forward and three back, where PyTorch needs some forty."""

import torch
import triton
import triton.language as tl
from torch import Tensor


def _rows(width: int) -> int:
    """Rows of one program: some thousand values, and few blocks to merge."""
    return max(16, 8192 // triton.next_power_of_2(width))


def masked_statistics(h: Tensor, keep: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance ``[D]`` and number of the rows of ``h`` ``[N, D]`` where ``keep`` ``[N]`` is true.

    Sums of blocks are merged by their distance from each other (Chan et al. 1983), so nothing cancels.
    """
    blocks, width = triton.cdiv(h.shape[0], _rows(h.shape[1])), triton.next_power_of_2(h.shape[1])
    partial = torch.empty(blocks, 3, h.shape[1], device=h.device)
    _block_statistics[(blocks,)](partial, h, keep, h.shape[0], h.shape[1], ROWS=_rows(h.shape[1]), WIDTH=width)
    found = torch.empty(3, h.shape[1], device=h.device)
    _merge_statistics[(triton.cdiv(h.shape[1], 32),)](found, partial, blocks, h.shape[1], WIDTH=32)
    return found[0], found[1], found[2]


def normalise(h: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``(h − mean) · rstd · weight + bias`` for all rows, kept or not."""
    out = torch.empty_like(h)
    width = triton.next_power_of_2(h.shape[1])
    _normalise[(triton.cdiv(h.shape[0], _rows(h.shape[1])),)](
        out, h, mean, rstd, weight, bias, h.shape[0], h.shape[1], ROWS=_rows(h.shape[1]), WIDTH=width
    )
    return out


def normalise_backward(
    grad: Tensor, h: Tensor, keep: Tensor, mean: Tensor, rstd: Tensor, count: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of ``h``, ``weight`` and ``bias``, through the statistics as well.

    dh_i = rstd·weight·(g_i − keep_i/count·(Σ g + x̂_i·Σ g·x̂)), the sums over all rows.
    """
    blocks, width = triton.cdiv(h.shape[0], _rows(h.shape[1])), triton.next_power_of_2(h.shape[1])
    partial = torch.empty(blocks, 2, h.shape[1], device=h.device)
    _block_sums[(blocks,)](partial, grad, h, mean, rstd, h.shape[0], h.shape[1], ROWS=_rows(h.shape[1]), WIDTH=width)
    sums = partial.sum(0)
    out = torch.empty_like(h)
    _pull_back[(blocks,)](
        out, grad, h, keep, mean, rstd, count, weight, sums, h.shape[0], h.shape[1], ROWS=_rows(h.shape[1]), WIDTH=width
    )
    return out, sums[1], sums[0]


@triton.jit
def _tile(rows: tl.tensor, width: tl.tensor, ROWS: tl.constexpr, WIDTH: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """Where the program's ``ROWS`` rows lie in a matrix, and which of the places exist."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    return row[:, None] * width + column[None, :], (row < rows)[:, None] & (column < width)[None, :]


@triton.jit
def _block_statistics(
    partial: tl.tensor,
    h: tl.tensor,
    keep: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """One program: count, mean and sum of squared distances of the kept among its rows."""
    place, exists = _tile(rows, width, ROWS, WIDTH)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)[:, None]
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    count = tl.sum(kept)
    mean = tl.sum(values * kept, 0) / tl.maximum(count, 1.0)
    away = (values - mean[None, :]) * kept
    column = tl.arange(0, WIDTH)
    start = partial + tl.program_id(0).to(tl.int64) * 3 * width + column
    tl.store(start, mean, mask=column < width)
    tl.store(start + width, tl.sum(away * away, 0), mask=column < width)
    tl.store(start + 2 * width, count + tl.zeros([WIDTH], tl.float32), mask=column < width)


@triton.jit
def _merge_statistics(
    found: tl.tensor, partial: tl.tensor, blocks: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr
) -> None:
    """One program merges all blocks for some columns."""
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < width
    mean = tl.zeros([WIDTH], tl.float32)
    away = tl.zeros([WIDTH], tl.float32)
    count = tl.zeros([WIDTH], tl.float32)
    for block in range(blocks):
        start = partial + block * 3 * width + column
        other = tl.load(start + 2 * width, mask=inside, other=0.0)
        gap = tl.load(start, mask=inside, other=0.0) - mean
        total = tl.maximum(count + other, 1.0)
        mean += gap * other / total
        away += tl.load(start + width, mask=inside, other=0.0) + gap * gap * count * other / total
        count += other
    tl.store(found + column, mean, mask=inside)
    tl.store(found + width + column, away / tl.maximum(count, 1.0), mask=inside)
    tl.store(found + 2 * width + column, count, mask=inside)


@triton.jit
def _normalise(
    out: tl.tensor,
    h: tl.tensor,
    mean: tl.tensor,
    rstd: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """One program scales and shifts its rows."""
    place, exists = _tile(rows, width, ROWS, WIDTH)
    column = tl.arange(0, WIDTH)
    inside = column < width
    scale = tl.load(rstd + column, mask=inside, other=0.0) * tl.load(weight + column, mask=inside, other=0.0)
    centre, shift = tl.load(mean + column, mask=inside, other=0.0), tl.load(bias + column, mask=inside, other=0.0)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    tl.store(out + place, (values - centre[None, :]) * scale[None, :] + shift[None, :], mask=exists)


@triton.jit
def _block_sums(
    partial: tl.tensor,
    grad: tl.tensor,
    h: tl.tensor,
    mean: tl.tensor,
    rstd: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """One program: Σ g and Σ g·x̂ over its rows."""
    place, exists = _tile(rows, width, ROWS, WIDTH)
    column = tl.arange(0, WIDTH)
    inside = column < width
    g = tl.load(grad + place, mask=exists, other=0.0).to(tl.float32)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    centre, scale = tl.load(mean + column, mask=inside, other=0.0), tl.load(rstd + column, mask=inside, other=0.0)
    start = partial + tl.program_id(0).to(tl.int64) * 2 * width + column
    tl.store(start, tl.sum(g, 0), mask=inside)
    tl.store(start + width, tl.sum(g * (values - centre[None, :]) * scale[None, :], 0), mask=inside)


@triton.jit
def _pull_back(
    out: tl.tensor,
    grad: tl.tensor,
    h: tl.tensor,
    keep: tl.tensor,
    mean: tl.tensor,
    rstd: tl.tensor,
    count: tl.tensor,
    weight: tl.tensor,
    sums: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """One program: the gradient of its rows."""
    place, exists = _tile(rows, width, ROWS, WIDTH)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = column < width
    kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)[:, None]
    centre, scale = tl.load(mean + column, mask=inside, other=0.0), tl.load(rstd + column, mask=inside, other=0.0)
    slope = tl.load(weight + column, mask=inside, other=0.0) * scale
    share = kept / tl.maximum(tl.load(count + column, mask=inside, other=1.0), 1.0)[None, :]
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    standard = (values - centre[None, :]) * scale[None, :]
    pulled = tl.load(sums + column, mask=inside, other=0.0)[None, :]
    pulled += standard * tl.load(sums + width + column, mask=inside, other=0.0)[None, :]
    g = tl.load(grad + place, mask=exists, other=0.0).to(tl.float32)
    tl.store(out + place, slope[None, :] * (g - share * pulled), mask=exists)
