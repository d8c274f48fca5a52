"""Batch norm over the kept rows in three launches forward and three back, where PyTorch needs some forty.

Rows may come in two groups, the two views of a batch, of which each has its own statistics: those before the row that
``split`` (``[1]``, on the device) names, and the others.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

PROGRAMS = 528
"""Programs that divide the rows among them where each has sums of its own: four for each multiprocessor of an H200."""

Remembered = tuple[Tensor, Tensor, float]
"""Running mean and variance, changed in place, and the momentum."""


def masked_statistics(
    h: Tensor, keep: Tensor | None, split: Tensor | None = None, remember: Remembered | None = None
) -> Tensor:
    """``[groups, 3, D]``: mean, variance and number of the rows of ``h`` ``[N, D]`` where ``keep`` ``[N]`` is true."""
    width = triton.next_power_of_2(h.shape[1])
    wide = width > 64
    rows = _rows(h.shape[1]) * (2 if wide else 1)  # every block has to be merged
    groups, blocks = 1 if split is None else 2, triton.cdiv(h.shape[0], rows)
    partial = torch.empty(blocks, groups, 3, h.shape[1], device=h.device)
    _block_statistics[(blocks,)](
        partial, h, keep, split, h.shape[0], h.shape[1],
        KEPT=keep is not None, GROUPS=groups, ROWS=rows, WIDTH=width, num_warps=8 if wide else 4,
    )  # fmt: skip
    return merge_statistics(partial, remember)


def merge_statistics(partial: Tensor, remember: Remembered | None = None) -> Tensor:
    """``[groups, 3, D]`` from the means, sums of squared distances and numbers of blocks (``[blocks, groups, 3, D]``).

    They are merged by the distances of the means from each other (Chan et al. 1983), so that nothing cancels.
    """
    blocks, groups, _, width = partial.shape
    found = torch.empty(groups, 3, width, device=partial.device)
    mean, var, momentum = remember or (None, None, 0.0)
    _merge_statistics[(triton.cdiv(width, 8),)](
        found, partial, mean, var, momentum, blocks, width,
        REMEMBER=remember is not None, GROUPS=groups, BLOCKS=min(256, triton.next_power_of_2(blocks)), WIDTH=8,
    )  # fmt: skip
    return found


def normalise(
    h: Tensor, statistics: Tensor, weight: Tensor, bias: Tensor, eps: float, split: Tensor | None = None,
    *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """``(h − mean) / √(variance + eps) · weight + bias`` for all rows, kept or not; the ReLU of it if asked."""
    out = torch.empty_like(h)
    rows, width = _rows(h.shape[1]), triton.next_power_of_2(h.shape[1])
    _normalise[(triton.cdiv(h.shape[0], rows),)](
        out, h, statistics, weight, bias, split, eps, h.shape[0], h.shape[1],
        GROUPS=statistics.shape[0], RELU=relu, ROWS=rows, WIDTH=width,
    )  # fmt: skip
    return out


def gradient_sums(
    grad: Tensor, h: Tensor, statistics: Tensor, weight: Tensor, bias: Tensor, eps: float, split: Tensor | None = None,
    *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """``[groups + 1, 2, D]``: Σ g and Σ g·x̂ over the rows of each group; last, over all: gradients of bias and weight.

    ``grad`` may be a block of columns of a wider matrix.
    """
    rows, width = _rows(h.shape[1]), triton.next_power_of_2(h.shape[1])
    tiles, groups = triton.cdiv(h.shape[0], rows), statistics.shape[0]
    share = triton.cdiv(tiles, PROGRAMS)
    blocks = triton.cdiv(tiles, share)
    partial = torch.empty(blocks, groups, 2, h.shape[1], device=h.device)
    _block_sums[(blocks,)](
        partial, grad, h, statistics, weight, bias, split, eps, h.shape[0], h.shape[1], grad.stride(0), share,
        GROUPS=groups, RELU=relu, ROWS=rows, WIDTH=width,
    )  # fmt: skip
    sums = torch.empty(groups + 1, 2, h.shape[1], device=h.device)
    _merge_sums[(triton.cdiv(2 * h.shape[1], 16),)](
        sums, partial, blocks, 2 * h.shape[1], GROUPS=groups, BLOCKS=128, WIDTH=16
    )
    return sums


def pull_back(
    grad: Tensor, h: Tensor, keep: Tensor | None, statistics: Tensor, sums: Tensor, weight: Tensor, bias: Tensor,
    eps: float, split: Tensor | None = None, *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """The gradient of ``h``, through the statistics as well; ``sums`` comes from ``gradient_sums``.

    dh_i = weight/σ · (g_i − keep_i/count · (Σ g + x̂_i·Σ g·x̂)), the sums over all rows of i's group.
    """
    out = torch.empty_like(h)
    rows, width = _rows(h.shape[1]), triton.next_power_of_2(h.shape[1])
    _pull_back[(triton.cdiv(h.shape[0], rows),)](
        out, grad, h, keep, statistics, sums, weight, bias, split, eps, h.shape[0], h.shape[1], grad.stride(0),
        KEPT=keep is not None, GROUPS=statistics.shape[0], RELU=relu, ROWS=rows, WIDTH=width,
    )  # fmt: skip
    return out


def _rows(width: int) -> int:
    """Rows of one program: some thousand values, and few blocks to merge."""
    return max(16, 4096 // triton.next_power_of_2(width))


@triton.jit
def tile_rows(
    rows: tl.tensor, stride: tl.tensor, width: tl.tensor, ROWS: tl.constexpr, WIDTH: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The program's ``ROWS`` rows: their numbers, where they lie in a matrix, and which of the places exist."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    return row, row[:, None] * stride + column[None, :], (row < rows)[:, None] & (column < width)[None, :]


@triton.jit
def by_group(
    start: tl.tensor, apart: tl.tensor, row: tl.tensor, split: tl.tensor, column: tl.tensor, inside: tl.tensor,
    GROUPS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """``[ROWS, WIDTH]`` (or ``[1, WIDTH]``): the values of each row's group; those of a group lie ``apart``."""
    found = tl.load(start + column, mask=inside, other=0.0)[None, :]
    if GROUPS == 2:
        second = tl.load(start + apart + column, mask=inside, other=0.0)[None, :]
        found = tl.where((row < tl.load(split))[:, None], found, second)
    return found


@triton.jit
def store_statistics(
    partial: tl.tensor, values: tl.tensor, kept: tl.tensor, row: tl.tensor, split: tl.tensor, width: tl.tensor,
    GROUPS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """Mean, sum of squared distances and number of the program's rows with ``kept`` (0 or 1, ``[ROWS]``), by group."""
    start = partial + tl.program_id(0).to(tl.int64) * GROUPS * 3 * width
    if GROUPS == 1:
        _store_group(start, values, kept, width, WIDTH)
    else:
        is_first = row < tl.load(split)
        # Nearly all tiles lie within one group: the other's number is zero, and that is all it needs.
        among = tl.sum(is_first.to(tl.int32), 0)
        _store_nothing(start + tl.where(among == 0, 0, 3 * width), width, WIDTH)
        if among > 0:
            _store_group(start, values, tl.where(is_first, kept, 0.0), width, WIDTH)
        if among < is_first.shape[0]:
            _store_group(start + 3 * width, values, tl.where(is_first, 0.0, kept), width, WIDTH)


@triton.jit
def _store_group(start: tl.tensor, values: tl.tensor, kept: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> None:
    column = tl.arange(0, WIDTH)
    inside = column < width
    count = tl.sum(kept, 0)
    mean = tl.sum(values * kept[:, None], 0) / tl.maximum(count, 1.0)
    away = (values - mean[None, :]) * kept[:, None]
    tl.store(start + column, mean, mask=inside)
    tl.store(start + width + column, tl.sum(away * away, 0), mask=inside)
    tl.store(start + 2 * width + column, count + tl.zeros([WIDTH], tl.float32), mask=inside)


@triton.jit
def _store_nothing(start: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr) -> None:
    column = tl.arange(0, WIDTH)
    for value in tl.static_range(3):
        tl.store(start + value * width + column, tl.zeros([WIDTH], tl.float32), mask=column < width)


@triton.jit
def _block_statistics(
    partial: tl.tensor, h: tl.tensor, keep: tl.tensor, split: tl.tensor, rows: tl.tensor, width: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program: the statistics of its rows."""
    row, place, exists = tile_rows(rows, width, width, ROWS, WIDTH)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    store_statistics(partial, values, kept, row, split, width, GROUPS, WIDTH)


@triton.jit
def _merge_statistics(
    found: tl.tensor, partial: tl.tensor, running_mean: tl.tensor, running_var: tl.tensor, momentum: tl.tensor,
    blocks: tl.tensor, width: tl.tensor,
    REMEMBER: tl.constexpr, GROUPS: tl.constexpr, BLOCKS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program merges all blocks for some columns, and remembers one group after the other.

    Means are summed by their distance from that of one block, which most likely has rows of the group: the first half
    are the first group's, and where there is padding, it comes last.
    """
    group, column = tl.arange(0, GROUPS), tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = (column < width)[None, :]
    place = group[:, None] * 3 * width + column[None, :]
    likely = blocks * (1 + 4 * group[:, None]) // 8
    middle = tl.load(partial + likely * GROUPS * 3 * width + place, mask=inside, other=0.0)
    count = tl.zeros([GROUPS, WIDTH], tl.float32)
    gaps = tl.zeros([GROUPS, WIDTH], tl.float32)
    away = tl.zeros([GROUPS, WIDTH], tl.float32)
    for first in range(0, blocks, BLOCKS):
        block = first + tl.arange(0, BLOCKS)
        start = partial + block[:, None, None] * GROUPS * 3 * width + place[None, :, :]
        exists = (block < blocks)[:, None, None] & inside[None, :, :]
        number = tl.load(start + 2 * width, mask=exists, other=0.0)
        gap = tl.load(start, mask=exists, other=0.0) - middle[None, :, :]
        inner = tl.load(start + width, mask=exists, other=0.0)
        count += tl.sum(number, 0)
        gaps += tl.sum(gap * number, 0)
        away += tl.sum(inner + gap * gap * number, 0)
    shift = gaps / tl.maximum(count, 1.0)
    away = tl.maximum(away - gaps * shift, 0.0)
    tl.store(found + place, middle + shift, mask=inside)
    tl.store(found + width + place, away / tl.maximum(count, 1.0), mask=inside)
    tl.store(found + 2 * width + place, count, mask=inside)
    if REMEMBER:
        inside = column < width
        for number in tl.static_range(GROUPS):
            mine = (group == number)[:, None]
            before = tl.load(running_mean + column, mask=inside, other=0.0)
            mean = tl.sum(tl.where(mine, middle + shift, 0.0), 0)
            tl.store(running_mean + column, before + momentum * (mean - before), mask=inside)
            before = tl.load(running_var + column, mask=inside, other=0.0)
            unbiased = tl.sum(tl.where(mine, away / tl.maximum(count - 1, 1.0), 0.0), 0)
            tl.store(running_var + column, before + momentum * (unbiased - before), mask=inside)


@triton.jit
def standardise(
    values: tl.tensor, statistics: tl.tensor, row: tl.tensor, split: tl.tensor, width: tl.tensor, eps: tl.tensor,
    GROUPS: tl.constexpr, WIDTH: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """x̂ of a tile, and 1/σ of its rows' groups."""
    column = tl.arange(0, WIDTH)
    inside = column < width
    mean = by_group(statistics, 3 * width, row, split, column, inside, GROUPS)
    rstd = tl.rsqrt(by_group(statistics + width, 3 * width, row, split, column, inside, GROUPS) + eps)
    return (values - mean) * rstd, rstd


@triton.jit
def pulled_back(
    g: tl.tensor, standard: tl.tensor, rstd: tl.tensor, kept: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    weight: tl.tensor, row: tl.tensor, split: tl.tensor, width: tl.tensor, GROUPS: tl.constexpr, WIDTH: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """The gradient of a tile of the norm's input."""
    column = tl.arange(0, WIDTH)
    inside = column < width
    count = tl.maximum(by_group(statistics + 2 * width, 3 * width, row, split, column, inside, GROUPS), 1.0)
    pulled = by_group(sums, 2 * width, row, split, column, inside, GROUPS)
    pulled += standard * by_group(sums + width, 2 * width, row, split, column, inside, GROUPS)
    slope = tl.load(weight + column, mask=inside, other=0.0)[None, :] * rstd
    return slope * (g - kept[:, None] / count * pulled)


@triton.jit
def _normalise(
    out: tl.tensor, h: tl.tensor, statistics: tl.tensor, weight: tl.tensor, bias: tl.tensor, split: tl.tensor,
    eps: tl.tensor, rows: tl.tensor, width: tl.tensor,
    GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program scales and shifts its rows."""
    row, place, exists = tile_rows(rows, width, width, ROWS, WIDTH)
    column = tl.arange(0, WIDTH)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    values, _ = standardise(values, statistics, row, split, width, eps, GROUPS, WIDTH)
    values = values * tl.load(weight + column, mask=column < width, other=0.0)[None, :]
    values += tl.load(bias + column, mask=column < width, other=0.0)[None, :]
    if RELU:
        values = tl.maximum(values, 0.0)
    tl.store(out + place, values, mask=exists)


@triton.jit
def _open_gradient(
    g: tl.tensor, standard: tl.tensor, weight: tl.tensor, bias: tl.tensor, width: tl.tensor, WIDTH: tl.constexpr
) -> tl.tensor:
    """The gradient that passes the ReLU after the norm."""
    column = tl.arange(0, WIDTH)
    inside = column < width
    value = standard * tl.load(weight + column, mask=inside, other=0.0)[None, :]
    return tl.where(value + tl.load(bias + column, mask=inside, other=0.0)[None, :] > 0, g, 0.0)


@triton.jit
def _block_sums(
    partial: tl.tensor, grad: tl.tensor, h: tl.tensor, statistics: tl.tensor, weight: tl.tensor, bias: tl.tensor,
    split: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor, stride: tl.tensor, share: tl.tensor,
    GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program: Σ g and Σ g·x̂ over ``share`` tiles of rows, by group."""
    column = tl.arange(0, WIDTH)
    inside = column < width
    group = tl.arange(0, GROUPS)
    total, along = tl.zeros([GROUPS, WIDTH], tl.float32), tl.zeros([GROUPS, WIDTH], tl.float32)
    for tile in range(share):
        row = (tl.program_id(0).to(tl.int64) * share + tile) * ROWS + tl.arange(0, ROWS)
        exists = (row < rows)[:, None] & inside[None, :]
        g = tl.load(grad + row[:, None] * stride + column[None, :], mask=exists, other=0.0).to(tl.float32)
        values = tl.load(h + row[:, None] * width + column[None, :], mask=exists, other=0.0).to(tl.float32)
        standard, _ = standardise(values, statistics, row, split, width, eps, GROUPS, WIDTH)
        if RELU:
            g = _open_gradient(g, standard, weight, bias, width, WIDTH)
        if GROUPS == 1:
            total += tl.sum(g, 0)[None, :]
            along += tl.sum(g * standard, 0)[None, :]
        else:
            is_first = row < tl.load(split)
            among = tl.sum(is_first.to(tl.int32), 0)
            if among > 0:  # nearly all tiles lie within one group
                mine = tl.where(is_first[:, None], g, 0.0)
                total += tl.where((group == 0)[:, None], tl.sum(mine, 0)[None, :], 0.0)
                along += tl.where((group == 0)[:, None], tl.sum(mine * standard, 0)[None, :], 0.0)
            if among < ROWS:
                mine = tl.where(is_first[:, None], 0.0, g)
                total += tl.where((group == 1)[:, None], tl.sum(mine, 0)[None, :], 0.0)
                along += tl.where((group == 1)[:, None], tl.sum(mine * standard, 0)[None, :], 0.0)
    place = (tl.program_id(0).to(tl.int64) * GROUPS + group)[:, None] * 2 * width + column[None, :]
    tl.store(partial + place, total, mask=inside[None, :])
    tl.store(partial + place + width, along, mask=inside[None, :])


@triton.jit
def _merge_sums(
    sums: tl.tensor, partial: tl.tensor, blocks: tl.tensor, width: tl.tensor,
    GROUPS: tl.constexpr, BLOCKS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program adds all blocks for some columns: each group's, and the groups together."""
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < width
    everything = tl.zeros([WIDTH], tl.float32)
    for group in tl.static_range(GROUPS):
        total = tl.zeros([WIDTH], tl.float32)
        for first in range(0, blocks, BLOCKS):
            block = first + tl.arange(0, BLOCKS)
            start = partial + (block[:, None] * GROUPS + group) * width + column[None, :]
            total += tl.sum(tl.load(start, mask=(block < blocks)[:, None] & inside[None, :], other=0.0), 0)
        tl.store(sums + group * width + column, total, mask=inside)
        everything += total
    tl.store(sums + GROUPS * width + column, everything, mask=inside)


@triton.jit
def _pull_back(
    out: tl.tensor, grad: tl.tensor, h: tl.tensor, keep: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    weight: tl.tensor, bias: tl.tensor, split: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor,
    stride: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program: the gradient of its rows."""
    row, place, exists = tile_rows(rows, width, width, ROWS, WIDTH)
    column = tl.arange(0, WIDTH)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    g = tl.load(grad + row[:, None] * stride + column[None, :], mask=exists, other=0.0).to(tl.float32)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    standard, rstd = standardise(values, statistics, row, split, width, eps, GROUPS, WIDTH)
    if RELU:
        g = _open_gradient(g, standard, weight, bias, width, WIDTH)
    found = pulled_back(g, standard, rstd, kept, statistics, sums, weight, row, split, width, GROUPS, WIDTH)
    tl.store(out + place, found, mask=exists)
