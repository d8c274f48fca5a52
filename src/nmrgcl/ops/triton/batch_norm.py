"""Batch norm over the kept rows in three launches forwards and three backwards, where PyTorch needs some forty.

Rows may come in two groups, the two views of a batch, each with its own statistics: the rows before row ``split``
(``[1]``, on the device), and the others.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

PROGRAMS = 512
"""Programs among which rows are divided if each keeps sums of its own: four per multiprocessor of an H200."""

Remembered = tuple[Tensor, Tensor, float]
"""Running mean and variance, which are updated in place, and the momentum."""


def masked_statistics(
    h: Tensor, keep: Tensor | None, split: Tensor | None = None, remember: Remembered | None = None
) -> Tensor:
    """``[groups, 3, D]``: mean, variance and number of the rows of ``h`` ``[N, D]`` where ``keep`` ``[N]`` is true."""
    (rows, width), tile = h.shape, _tile(h.shape[1])
    groups, blocks = 1 if split is None else 2, triton.cdiv(rows, tile["ROWS"])
    partial = torch.empty(blocks, groups, 3, width, device=h.device)
    _block_statistics[(blocks * tile["COLUMNS"],)](
        partial, h, keep, split, rows, width, KEPT=keep is not None, GROUPS=groups, **tile
    )
    return merge_statistics(partial, remember)


def merge_statistics(partial: Tensor, remember: Remembered | None = None) -> Tensor:
    """``[groups, 3, D]`` from each block's mean, sum of squared distances and number (``[blocks, groups, 3, D]``).

    Blocks are merged by the distances between their means (Chan et al. 1983), so that nothing cancels.
    """
    blocks, groups, _, width = partial.shape
    found = torch.empty(groups, 3, width, device=partial.device)
    mean, var, momentum = remember or (None, None, 0.0)
    at_once = min(1024, triton.next_power_of_2(blocks))
    _merge_statistics[(triton.cdiv(width, 4),)](
        found, partial, mean, var, momentum, blocks, width,
        REMEMBER=remember is not None, GROUPS=groups, BLOCKS=at_once, WIDTH=4, num_warps=8 if at_once > 256 else 4,
    )  # fmt: skip
    return found


def normalise(
    h: Tensor, statistics: Tensor, weight: Tensor, bias: Tensor, eps: float, split: Tensor | None = None,
    *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """``(h − mean) / √(variance + eps) · weight + bias`` for all rows, kept or not; its ReLU if asked."""
    out = torch.empty_like(h)
    (rows, width), tile = h.shape, _tile(h.shape[1])
    _normalise[(triton.cdiv(rows, tile["ROWS"]) * tile["COLUMNS"],)](
        out, h, statistics, weight, bias, split, eps, rows, width, GROUPS=statistics.shape[0], RELU=relu, **tile
    )
    return out


def gradient_sums(
    grad: Tensor, h: Tensor, statistics: Tensor, weight: Tensor, bias: Tensor, eps: float, split: Tensor | None = None,
    *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """``[groups + 1, 2, D]``: Σ g and Σ g·x̂ over the rows of each group; last, over all: gradients of bias and weight.

    ``grad`` may be a block of columns of a wider matrix.
    """
    (rows, width), tile = h.shape, _tile(h.shape[1])
    tile["ROWS"] //= 2  # sums of a whole tile stay in registers
    tiles, groups = triton.cdiv(rows, tile["ROWS"]), statistics.shape[0]
    share = triton.cdiv(tiles, PROGRAMS)
    blocks = triton.cdiv(tiles, share)
    partial = torch.empty(blocks, groups, 2, width, device=h.device)
    _block_sums[(blocks * tile["COLUMNS"],)](
        partial, grad, h, statistics, weight, bias, split, eps, rows, width, grad.stride(0), share,
        GROUPS=groups, RELU=relu, **tile,
    )  # fmt: skip
    sums = torch.empty(groups + 1, 2, h.shape[1], device=h.device)
    _merge_sums[(triton.cdiv(2 * h.shape[1], 8),)](
        sums, partial, blocks, 2 * h.shape[1], GROUPS=groups, BLOCKS=triton.next_power_of_2(blocks), WIDTH=8
    )
    return sums


def pull_back(
    grad: Tensor, h: Tensor, keep: Tensor | None, statistics: Tensor, sums: Tensor, weight: Tensor, bias: Tensor,
    eps: float, split: Tensor | None = None, *, relu: bool = False,
) -> Tensor:  # fmt: skip
    """The gradient of ``h``, also through the statistics; ``sums`` comes from ``gradient_sums``.

    ∂L/∂h_i = γ/σ · (g_i − keep_i/n · (Σ g + x̂_i Σ g x̂)) with sums over all rows of i's group, as
    ``nmrgcl.ops.batch_norm`` derives; γ is ``weight`` and n the number of kept rows.
    """
    out = torch.empty_like(h)
    (rows, width), tile = h.shape, _tile(h.shape[1])
    _pull_back[(triton.cdiv(rows, tile["ROWS"]) * tile["COLUMNS"],)](
        out, grad, h, keep, statistics, sums, weight, bias, split, eps, rows, width, grad.stride(0),
        KEPT=keep is not None, GROUPS=statistics.shape[0], RELU=relu, **tile,
    )  # fmt: skip
    return out


def _tile(width: int) -> dict[str, int]:
    """Units and rows of one program, and the number of such blocks of columns.

    Programs for the same rows follow each other, so that a line of memory which one has read is cached for the next.
    """
    units = min(64, triton.next_power_of_2(width))
    return {"UNITS": units, "ROWS": 4096 // units if units > 16 else 256, "COLUMNS": triton.cdiv(width, units)}


@triton.jit
def tile_of(
    rows: tl.tensor, width: tl.tensor, ROWS: tl.constexpr, UNITS: tl.constexpr, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Rows and columns of the program's tile, and which of its entries exist."""
    row = (tl.program_id(0) // COLUMNS).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) % COLUMNS * UNITS + tl.arange(0, UNITS)
    return row, column, (row < rows)[:, None] & (column < width)[None, :]


@triton.jit
def groups_of(row: tl.tensor, split: tl.tensor, GROUPS: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """``[ROWS]`` the group of each row of a tile, and the number of groups in the tile, which is nearly always one."""
    group = tl.zeros_like(row)
    if GROUPS == 2:
        group += (row >= tl.load(split)).to(tl.int64)
    return group, tl.max(group, 0) - tl.min(group, 0) + 1


@triton.jit
def store_statistics(
    partial: tl.tensor, values: tl.tensor, kept: tl.tensor, row: tl.tensor, column: tl.tensor, split: tl.tensor,
    width: tl.tensor, GROUPS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """Mean, sum of squared distances and number of the program's rows with ``kept`` (0 or 1, ``[ROWS]``), by group."""
    start = partial + (tl.program_id(0) // COLUMNS).to(tl.int64) * GROUPS * 3 * width + column
    group, present = groups_of(row, split, GROUPS)
    first = tl.min(group, 0)
    if GROUPS == 2:  # for a group without rows here, only the number is written
        tl.store(start + (1 - first) * 3 * width + 2 * width, tl.zeros_like(column).to(tl.float32), mask=column < width)
    for number in range(first, first + present):
        mine = tl.where(group == number, kept, 0.0)
        count = tl.sum(mine, 0)
        mean = tl.sum(values * mine[:, None], 0) / tl.maximum(count, 1.0)
        away = (values - mean[None, :]) * mine[:, None]
        place = start + number * 3 * width
        tl.store(place, mean, mask=column < width)
        tl.store(place + width, tl.sum(away * away, 0), mask=column < width)
        tl.store(place + 2 * width, count + tl.zeros_like(mean), mask=column < width)


@triton.jit
def _block_statistics(
    partial: tl.tensor, h: tl.tensor, keep: tl.tensor, split: tl.tensor, rows: tl.tensor, width: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: the statistics of one tile."""
    row, column, exists = tile_of(rows, width, ROWS, UNITS, COLUMNS)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    values = tl.load(h + row[:, None] * width + column[None, :], mask=exists, other=0.0).to(tl.float32)
    store_statistics(partial, values, kept, row, column, split, width, GROUPS, COLUMNS)


@triton.jit
def _merge_statistics(
    found: tl.tensor, partial: tl.tensor, running_mean: tl.tensor, running_var: tl.tensor, momentum: tl.tensor,
    blocks: tl.tensor, width: tl.tensor,
    REMEMBER: tl.constexpr, GROUPS: tl.constexpr, BLOCKS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program merges all blocks for some columns and updates the running statistics group by group.

    Means are summed as distances from the mean of one block that most likely has rows of the group: the first half of
    the blocks belongs to the first group, and padding comes last.
    """
    group, column = tl.arange(0, GROUPS), tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = (column < width)[None, :]
    place = group[:, None] * 3 * width + column[None, :]
    likely = blocks * (1 + 4 * group[:, None]) // 8
    among = tl.load(partial + likely * GROUPS * 3 * width + 2 * width + place, mask=inside, other=0.0)
    middle = tl.load(partial + likely * GROUPS * 3 * width + place, mask=inside & (among > 0), other=0.0)
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
        # Reading everything at once is faster, so what a block without rows of the group left unwritten is masked here.
        gap, inner = tl.where(number > 0, gap, 0.0), tl.where(number > 0, inner, 0.0)
        count += tl.sum(number, 0)
        gaps += tl.sum(gap * number, 0)
        away += tl.sum(inner + gap * gap * number, 0)
    # Σ n (m − μ)² = Σ n (m − middle)² − (Σ n (m − middle))² / Σ n. Little cancels, as the middle is close to μ.
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
    values: tl.tensor, statistics: tl.tensor, group: tl.tensor, column: tl.tensor, width: tl.tensor, eps: tl.tensor
) -> tuple[tl.tensor, tl.tensor]:
    """x̂ of a tile whose rows belong to one ``group``, and 1/σ of its columns."""
    start = statistics + group * 3 * width + column
    mean = tl.load(start, mask=column < width, other=0.0)[None, :]
    rstd = tl.rsqrt(tl.load(start + width, mask=column < width, other=0.0) + eps)[None, :]
    return (values - mean) * rstd, rstd


@triton.jit
def pulled_back(
    g: tl.tensor, standard: tl.tensor, rstd: tl.tensor, kept: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    weight: tl.tensor, group: tl.tensor, column: tl.tensor, width: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """The gradient of a tile of the norm's input whose rows belong to one ``group``: the formula of ``pull_back``."""
    inside = column < width
    # n is 0 only if the group keeps no row, and then nothing is subtracted.
    count = tl.load(statistics + (group * 3 + 2) * width + column, mask=inside, other=1.0)
    pulled = tl.load(sums + group * 2 * width + column, mask=inside, other=0.0)[None, :]
    pulled = pulled + standard * tl.load(sums + (group * 2 + 1) * width + column, mask=inside, other=0.0)[None, :]
    slope = tl.load(weight + column, mask=inside, other=0.0)[None, :] * rstd
    return slope * (g - kept[:, None] * pulled / tl.maximum(count, 1.0)[None, :])


@triton.jit
def _normalise(
    out: tl.tensor, h: tl.tensor, statistics: tl.tensor, weight: tl.tensor, bias: tl.tensor, split: tl.tensor,
    eps: tl.tensor, rows: tl.tensor, width: tl.tensor,
    GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program scales and shifts one tile."""
    row, column, exists = tile_of(rows, width, ROWS, UNITS, COLUMNS)
    place = row[:, None] * width + column[None, :]
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    scale = tl.load(weight + column, mask=column < width, other=0.0)[None, :]
    shift = tl.load(bias + column, mask=column < width, other=0.0)[None, :]
    group, present = groups_of(row, split, GROUPS)
    first = tl.min(group, 0)
    for number in range(first, first + present):
        standard, _ = standardise(values, statistics, number, column, width, eps)
        found = standard * scale + shift
        if RELU:
            found = tl.maximum(found, 0.0)
        tl.store(out + place, found, mask=exists & (group == number)[:, None])


@triton.jit
def _open_gradient(
    g: tl.tensor, standard: tl.tensor, weight: tl.tensor, bias: tl.tensor, column: tl.tensor, width: tl.tensor
) -> tl.tensor:
    """The gradient that passes the ReLU after the norm."""
    # Whether the ReLU was open is computed again from x̂, which is cheaper than reading the output once more.
    value = standard * tl.load(weight + column, mask=column < width, other=0.0)[None, :]
    return tl.where(value + tl.load(bias + column, mask=column < width, other=0.0)[None, :] > 0, g, 0.0)


@triton.jit
def _block_sums(
    partial: tl.tensor, grad: tl.tensor, h: tl.tensor, statistics: tl.tensor, weight: tl.tensor, bias: tl.tensor,
    split: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor, stride: tl.tensor, share: tl.tensor,
    GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: Σ g and Σ g·x̂ over ``share`` tiles, one group after the other."""
    block, column = (tl.program_id(0) // COLUMNS).to(tl.int64), tl.program_id(0) % COLUMNS * UNITS + tl.arange(0, UNITS)
    begin = block * share * ROWS
    end = begin + share * ROWS
    first, last = begin, end
    if GROUPS == 2:  # the first group ends, and the second begins, at the split
        last = tl.minimum(tl.maximum(tl.load(split).to(tl.int64), begin), end)
    for number in tl.static_range(GROUPS):
        total, along = tl.zeros([ROWS, UNITS], tl.float32), tl.zeros([ROWS, UNITS], tl.float32)
        for start in range(first, last, ROWS):
            row = start + tl.arange(0, ROWS)
            exists = (row < tl.minimum(last, rows))[:, None] & (column < width)[None, :]
            g = tl.load(grad + row[:, None] * stride + column[None, :], mask=exists, other=0.0).to(tl.float32)
            values = tl.load(h + row[:, None] * width + column[None, :], mask=exists, other=0.0).to(tl.float32)
            standard, _ = standardise(values, statistics, number, column, width, eps)
            if RELU:
                g = _open_gradient(g, standard, weight, bias, column, width)
            total += g
            along += g * standard
        place = partial + (block * GROUPS + number) * 2 * width + column
        tl.store(place, tl.sum(total, 0), mask=column < width)
        tl.store(place + width, tl.sum(along, 0), mask=column < width)
        first, last = last, end


@triton.jit
def _merge_sums(
    sums: tl.tensor, partial: tl.tensor, blocks: tl.tensor, width: tl.tensor,
    GROUPS: tl.constexpr, BLOCKS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program adds all blocks for some columns, for each group and for all groups together."""
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    inside = column < width
    block, everything = tl.arange(0, BLOCKS), tl.zeros([WIDTH], tl.float32)
    # There are at most PROGRAMS blocks, few enough for a single load.
    for group in tl.static_range(GROUPS):
        start = partial + (block[:, None] * GROUPS + group) * width + column[None, :]
        total = tl.sum(tl.load(start, mask=(block < blocks)[:, None] & inside[None, :], other=0.0), 0)
        tl.store(sums + group * width + column, total, mask=inside)
        everything += total
    tl.store(sums + GROUPS * width + column, everything, mask=inside)


@triton.jit
def _pull_back(
    out: tl.tensor, grad: tl.tensor, h: tl.tensor, keep: tl.tensor, statistics: tl.tensor, sums: tl.tensor,
    weight: tl.tensor, bias: tl.tensor, split: tl.tensor, eps: tl.tensor, rows: tl.tensor, width: tl.tensor,
    stride: tl.tensor,
    KEPT: tl.constexpr, GROUPS: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: the gradient of one tile."""
    row, column, exists = tile_of(rows, width, ROWS, UNITS, COLUMNS)
    kept = (row < rows).to(tl.float32)
    if KEPT:
        kept = tl.load(keep + row, mask=row < rows, other=0).to(tl.float32)
    place = row[:, None] * width + column[None, :]
    g = tl.load(grad + row[:, None] * stride + column[None, :], mask=exists, other=0.0).to(tl.float32)
    values = tl.load(h + place, mask=exists, other=0.0).to(tl.float32)
    group, present = groups_of(row, split, GROUPS)
    first = tl.min(group, 0)
    for number in range(first, first + present):
        standard, rstd = standardise(values, statistics, number, column, width, eps)
        mine = g
        if RELU:
            mine = _open_gradient(g, standard, weight, bias, column, width)
        found = pulled_back(mine, standard, rstd, kept, statistics, sums, weight, number, column, width)
        tl.store(out + place, found, mask=exists & (group == number)[:, None])
