"""Sums over the rows of a sorted edge list: gather, weights, edge embeddings and the node's own row in one kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CHUNK = 32
"""Edges per part, where the sums of hubs are put together from parts."""


def row_sums(
    h: Tensor,
    column: Tensor | None,
    row_ptr: Tensor,
    weight: Tensor | None = None,
    *,
    self_weight: float = 0.0,
    edge_attr: Tensor | None = None,
    edge_table: Tensor | None = None,
    looped: bool = False,
    ends: Tensor | None = None,
) -> Tensor:
    """``[R, D]``: see ``ops.rows.row_sums``; sums are in float32 or wider.

    Where ``weight`` is zero, the source is not even read. ``self_weight`` is compiled into the kernel, so it should not
    change from step to step.

    One program sums a row, so a hub with thousands of edges would keep all others waiting. With ``ends``, the parts of
    long rows are therefore summed first, each by a program of its own.
    """
    h = h if h.stride(1) == 1 else h.contiguous()
    out = torch.empty(row_ptr.shape[0] - 1, h.shape[1], dtype=h.dtype, device=h.device)
    if out.numel() == 0:
        return out
    categories = 0 if edge_attr is None or edge_table is None else edge_attr.shape[1]
    tile = _range_tile(h.shape[1]) if column is None else _tile(h.shape[1], column.shape[0] / out.shape[0])
    kind = {"INDEXED": column is not None, "WEIGHTED": weight is not None, "CATEGORIES": categories}
    parts = None
    if ends is not None and ends.shape[0] >= CHUNK:
        wide = torch.float64 if h.dtype == torch.float64 else torch.float32
        parts = torch.empty(ends.shape[0] // CHUNK, h.shape[1], dtype=wide, device=h.device)
        units = min(triton.next_power_of_2(h.shape[1]), 512)
        _sum_parts[(parts.shape[0], triton.cdiv(h.shape[1], units))](
            parts, h, column, ends, weight, edge_attr, edge_table, h.shape[1], h.stride(0),
            **kind, UNITS=units, EDGES=min(CHUNK, max(1, 2048 // units)), CHUNK=CHUNK,
        )  # fmt: skip
    grid = (triton.cdiv(out.shape[0], tile["ROWS"]), triton.cdiv(h.shape[1], tile["UNITS"]))
    _sum_rows[grid](
        out, h, column, row_ptr, weight, edge_attr, edge_table, parts, out.shape[0], h.shape[1], h.stride(0),
        0 if edge_table is None else edge_table.shape[0] - 1,
        LOOPED=looped, SELF=float(self_weight), CHUNK=0 if parts is None else CHUNK, **kind, **tile,
    )  # fmt: skip
    return out


def edge_products(left: Tensor, right: Tensor, edge_index: Tensor) -> Tensor:
    """``[E]``: see ``ops.rows.edge_products``; sums, and the result, are in float32 or wider."""
    left, right = (h if h.stride(1) == 1 else h.contiguous() for h in (left, right))
    wide = torch.float64 if torch.float64 in (left.dtype, right.dtype) else torch.float32
    out = torch.empty(edge_index.shape[1], dtype=wide, device=left.device)
    if out.numel():
        units = min(triton.next_power_of_2(left.shape[1]), 128)
        edges = max(1, 2048 // units)
        _edge_products[(triton.cdiv(out.shape[0], edges),)](
            out, left, right, edge_index, out.shape[0], left.shape[1], edge_index.stride(0), left.stride(0),
            right.stride(0), EDGES=edges, UNITS=units,
        )  # fmt: skip
    return out


def column_sums(partial: Tensor) -> Tensor:
    """``[K]``: the sum of the rows of ``partial`` ``[P, K]``, always in the same order."""
    rows, width = partial.shape
    out = torch.empty(width, device=partial.device)
    _column_sums[(triton.cdiv(width, 8),)](
        out, partial, rows, width, ROWS=min(512, triton.next_power_of_2(rows)), UNITS=8
    )
    return out


def spread_rows(h: Tensor, owner: Tensor, keep: Tensor | None) -> Tensor:
    """``[N, D]``: row ``owner[i]`` of ``h``, or zeros where ``keep`` (``[N]``) is false."""
    out = torch.empty(owner.shape[0], h.shape[1], dtype=h.dtype, device=h.device)
    if out.numel():
        units = min(triton.next_power_of_2(h.shape[1]), 512)
        rows = max(1, 2048 // units)
        _spread_rows[(triton.cdiv(out.shape[0], rows), triton.cdiv(h.shape[1], units))](
            out, h, owner, keep, out.shape[0], h.shape[1], KEPT=keep is not None, ROWS=rows, UNITS=units
        )
    return out


def take_rows(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]`` for one or two dimensions, because PyTorch's kernels are slow if rows are short.

    Values that need a gradient are left to PyTorch.
    """
    out = torch.empty(index.shape[0], *values.shape[1:], dtype=values.dtype, device=values.device)
    if out.numel() == 0 or values.dim() > 2 or values.requires_grad:
        return values.index_select(0, index)
    width = values.shape[1] if values.dim() == 2 else 1
    units = min(triton.next_power_of_2(width), 512)
    rows = max(1, 1024 // units)
    _take_rows[(triton.cdiv(out.shape[0], rows), triton.cdiv(width, units))](
        out, values, index, out.shape[0], width, values.stride(0), ROWS=rows, UNITS=units
    )
    return out


def row_counts(edge_attr: Tensor, row_ptr: Tensor, weight: Tensor | None, categories: int, loop: int = -1) -> Tensor:
    """``[N, K]`` float32: see ``ops.rows.row_counts``; ``loop`` = -1: there is no such column."""
    out = torch.empty(row_ptr.shape[0] - 1, categories, device=row_ptr.device)
    if out.numel() == 0:
        return out
    wide = triton.next_power_of_2(categories)
    rows = max(1, 256 // wide)
    _count_rows[(triton.cdiv(out.shape[0], rows),)](
        out, edge_attr, row_ptr, weight, out.shape[0], categories, loop,
        WEIGHTED=weight is not None, NAMES=edge_attr.shape[1], ROWS=rows, CATEGORIES=wide, EDGES=4,
    )  # fmt: skip
    return out


def _tile(width: int, mean: float) -> dict[str, int]:
    """Rows, units and edges of one step of one program, and its warps, for rows of ``mean`` edges.

    Finding a row's edges takes longer than reading their sources. So a program takes whole rows up to 512 units
    (27,000 rows of 300 on an H200: 25 µs, against 51 in blocks of 128 units), and several rows if they are narrow.
    """
    units = min(triton.next_power_of_2(width), 512)
    edges = min(triton.next_power_of_2(max(2, round(mean))), 16, max(2, 2048 // units))
    rows = max(1, min(32, 512 // (units * edges)))
    long = max(edges, 1024 // units)
    return {"ROWS": rows, "UNITS": units, "EDGES": edges, "SHORT": min(long, 8 * edges), "LONG": long, "num_warps": 1}


def _range_tile(width: int) -> dict[str, int]:
    """The same for sums over ranges: rows with dozens of entries that are contiguous in memory."""
    units = min(triton.next_power_of_2(width), 32)
    return {"ROWS": 1, "UNITS": units, "EDGES": 64, "SHORT": 64, "LONG": 64, "num_warps": 4}


# Otherwise Triton would compile again when a batch has one row or a multiple of 16 rows.
@triton.jit(do_not_specialize=["rows"])
def _sum_rows(
    out: tl.tensor,
    h: tl.tensor,
    column: tl.tensor,
    row_ptr: tl.tensor,
    weight: tl.tensor,
    edge_attr: tl.tensor,
    edge_table: tl.tensor,
    parts: tl.tensor,
    rows: tl.tensor,
    width: tl.tensor,
    stride: tl.tensor,
    loop: tl.tensor,
    LOOPED: tl.constexpr,
    SELF: tl.constexpr,
    CHUNK: tl.constexpr,
    INDEXED: tl.constexpr,
    WEIGHTED: tl.constexpr,
    CATEGORIES: tl.constexpr,
    ROWS: tl.constexpr,
    UNITS: tl.constexpr,
    EDGES: tl.constexpr,
    SHORT: tl.constexpr,
    LONG: tl.constexpr,
) -> None:
    """One program sums one block of units of some destination rows.

    No two programs write to the same place, so no atomics are needed. The sources of ``EDGES`` edges of each row are
    gathered at once; most rows of molecules need one such step. Rows of over ``SHORT`` edges come after the others,
    one at a time and ``LONG`` edges at once: a hub may have thousands of edges where most nodes have two. Unless
    ``CHUNK`` is 0, chunks of so many edges are in ``parts`` already, and only a row's first and last edges are left.
    """
    wide: tl.constexpr = tl.float64 if h.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    there, inside = row < rows, unit < width
    first = tl.load(row_ptr + row, mask=there, other=0)
    last = tl.load(row_ptr + row + 1, mask=there, other=0)
    total = tl.zeros([ROWS, UNITS], wide)
    exists = there[:, None] & inside[None, :]
    if SELF != 0:
        total += SELF * tl.load(h + row[:, None] * stride + unit[None, :], mask=exists, other=0).to(wide)
    if LOOPED:
        total += tl.load(edge_table + loop * width + unit, mask=inside, other=0)[None, :].to(wide)
    length = last - first
    longest = tl.max(length, 0)
    if SHORT > EDGES or CHUNK > 0:
        # A long row counts as empty here, so that the other rows of the tile need not wait for it.
        last = tl.where(length > SHORT, first, last)
        longest = tl.minimum(longest, SHORT)
    for start in range(0, longest, EDGES):
        edge = first[:, None] + start + tl.arange(0, EDGES)[None, :]
        total += _messages(
            h, column, weight, edge_attr, edge_table, edge, edge < last[:, None], unit, inside, width, stride,
            wide, INDEXED, WEIGHTED, CATEGORIES,
        )  # fmt: skip
    if (SHORT > EDGES or CHUNK > 0) and tl.max(length, 0) > SHORT:
        for number in range(ROWS):
            # Triton cannot index a block by a number, so a sum over a mask picks the row.
            one = tl.arange(0, ROWS) == number
            begin = tl.sum(tl.where(one & (length > SHORT), first, 0), 0)
            end = begin + tl.sum(tl.where(one & (length > SHORT), length, 0), 0)
            head = end
            if CHUNK > 0:
                # The chunks that belong to the row as a whole are those from head to tail.
                head = tl.minimum((begin + CHUNK - 1) // CHUNK * CHUNK, end)
                tail = tl.maximum(end // CHUNK * CHUNK, head)
                for start in range(head // CHUNK, tail // CHUNK, LONG):
                    part = start + tl.arange(0, LONG)
                    whole = (part < tail // CHUNK)[:, None] & inside[None, :]
                    sums = tl.load(parts + part[:, None] * width + unit[None, :], mask=whole, other=0)
                    total += tl.where(one[:, None], tl.sum(sums, 0)[None, :], 0)
                for start in range(tail, end, LONG):
                    edge = start + tl.arange(0, LONG)[None, :]
                    found = _messages(
                        h, column, weight, edge_attr, edge_table, edge, edge < end, unit, inside, width, stride,
                        wide, INDEXED, WEIGHTED, CATEGORIES,
                    )  # fmt: skip
                    total += tl.where(one[:, None], found, 0)
            for start in range(begin, head, LONG):
                edge = start + tl.arange(0, LONG)[None, :]
                found = _messages(
                    h, column, weight, edge_attr, edge_table, edge, edge < head, unit, inside, width, stride,
                    wide, INDEXED, WEIGHTED, CATEGORIES,
                )  # fmt: skip
                total += tl.where(one[:, None], found, 0)
    tl.store(out + row[:, None] * width + unit[None, :], total.to(out.dtype.element_ty), mask=exists)


@triton.jit
def _sum_parts(
    parts: tl.tensor, h: tl.tensor, column: tl.tensor, ends: tl.tensor, weight: tl.tensor, edge_attr: tl.tensor,
    edge_table: tl.tensor, width: tl.tensor, stride: tl.tensor,
    INDEXED: tl.constexpr, WEIGHTED: tl.constexpr, CATEGORIES: tl.constexpr,
    UNITS: tl.constexpr, EDGES: tl.constexpr, CHUNK: tl.constexpr,
) -> None:  # fmt: skip
    """One program sums one block of units of ``CHUNK`` edges, if they all belong to one row; others are not read."""
    wide: tl.constexpr = parts.dtype.element_ty
    first = tl.program_id(0).to(tl.int64) * CHUNK
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    inside = unit < width
    if tl.load(ends + first) == tl.load(ends + first + CHUNK - 1):
        total = tl.zeros([1, UNITS], wide)
        for start in range(0, CHUNK, EDGES):
            edge = first + start + tl.arange(0, EDGES)[None, :]
            total += _messages(
                h, column, weight, edge_attr, edge_table, edge, edge >= 0, unit, inside, width, stride,
                wide, INDEXED, WEIGHTED, CATEGORIES,
            )  # fmt: skip
        place = parts + tl.program_id(0).to(tl.int64) * width + unit[None, :]
        tl.store(place, total, mask=inside[None, :])


@triton.jit
def _messages(
    h: tl.tensor, column: tl.tensor, weight: tl.tensor, edge_attr: tl.tensor, edge_table: tl.tensor,
    edge: tl.tensor, live: tl.tensor, unit: tl.tensor, inside: tl.tensor, width: tl.tensor, stride: tl.tensor,
    wide: tl.constexpr, INDEXED: tl.constexpr, WEIGHTED: tl.constexpr, CATEGORIES: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """``[ROWS, UNITS]``: the sums of the messages of the edges ``edge`` ``[ROWS, EDGES]`` that are ``live``."""
    source = edge.to(tl.int64)
    if INDEXED:
        source = tl.load(column + edge, mask=live, other=0).to(tl.int64)
    if WEIGHTED:
        scale = tl.load(weight + edge, mask=live, other=0).to(wide)
        live = live & (scale != 0)
    message = tl.load(
        h + source[:, :, None] * stride + unit[None, None, :],
        mask=live[:, :, None] & inside[None, None, :],
        other=0,
    ).to(wide)
    for c in tl.static_range(CATEGORIES):
        name = tl.load(edge_attr + edge * CATEGORIES + c, mask=live, other=-1)
        known = (name >= 0)[:, :, None] & inside[None, None, :]
        table = edge_table + name[:, :, None] * width + unit[None, None, :]
        message += tl.load(table, mask=known, other=0).to(wide)
    if WEIGHTED:
        message *= scale[:, :, None]
    return tl.sum(message, 1)


@triton.jit
def _edge_products(
    out: tl.tensor, left: tl.tensor, right: tl.tensor, edge_index: tl.tensor, edges: tl.tensor, width: tl.tensor,
    stride: tl.tensor, left_stride: tl.tensor, right_stride: tl.tensor, EDGES: tl.constexpr, UNITS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: some edges, one block of units after another."""
    wide: tl.constexpr = out.dtype.element_ty
    edge = tl.program_id(0).to(tl.int64) * EDGES + tl.arange(0, EDGES)
    there = edge < edges
    source = tl.load(edge_index + edge, mask=there, other=0).to(tl.int64)
    destination = tl.load(edge_index + stride + edge, mask=there, other=0).to(tl.int64)
    total = tl.zeros([EDGES], wide)
    for start in range(0, width, UNITS):
        unit = start + tl.arange(0, UNITS)
        inside = there[:, None] & (unit < width)[None, :]
        a = tl.load(left + destination[:, None] * left_stride + unit[None, :], mask=inside, other=0).to(wide)
        b = tl.load(right + source[:, None] * right_stride + unit[None, :], mask=inside, other=0).to(wide)
        total += tl.sum(a * b, 1)
    tl.store(out + edge, total, mask=there)


@triton.jit
def _count_rows(
    out: tl.tensor, edge_attr: tl.tensor, row_ptr: tl.tensor, weight: tl.tensor, rows: tl.tensor,
    categories: tl.tensor, loop: tl.tensor,
    WEIGHTED: tl.constexpr, NAMES: tl.constexpr, ROWS: tl.constexpr, CATEGORIES: tl.constexpr, EDGES: tl.constexpr,
) -> None:  # fmt: skip
    """One program counts the categories of some rows' edges, comparing each edge with all categories at once."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    category, there = tl.arange(0, CATEGORIES), row < rows
    first = tl.load(row_ptr + row, mask=there, other=0)
    last = tl.load(row_ptr + row + 1, mask=there, other=0)
    total = tl.zeros([ROWS, CATEGORIES], tl.float32) + (category == loop).to(tl.float32)[None, :]
    for start in range(0, tl.max(last - first, 0), EDGES):
        edge = first[:, None] + start + tl.arange(0, EDGES)[None, :]
        live = edge < last[:, None]
        for c in tl.static_range(NAMES):
            name = tl.load(edge_attr + edge * NAMES + c, mask=live, other=-1)
            found = (name[:, :, None] == category[None, None, :]).to(tl.float32)
            if WEIGHTED:
                found *= tl.load(weight + edge, mask=live, other=0).to(tl.float32)[:, :, None]
            total += tl.sum(found, 1)
    exists = there[:, None] & (category < categories)[None, :]
    tl.store(out + row[:, None] * categories + category[None, :], total, mask=exists)


@triton.jit
def _spread_rows(
    out: tl.tensor, h: tl.tensor, owner: tl.tensor, keep: tl.tensor, rows: tl.tensor, width: tl.tensor,
    KEPT: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one block of units of some rows."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    there = row < rows
    source, live = tl.load(owner + row, mask=there, other=0), there
    if KEPT:
        live = live & (tl.load(keep + row, mask=there, other=0) != 0)
    inside = (unit < width)[None, :]
    values = tl.load(h + source[:, None] * width + unit[None, :], mask=live[:, None] & inside, other=0.0)
    tl.store(out + row[:, None] * width + unit[None, :], values, mask=there[:, None] & inside)


@triton.jit
def _take_rows(
    out: tl.tensor, values: tl.tensor, index: tl.tensor, rows: tl.tensor, width: tl.tensor, stride: tl.tensor,
    ROWS: tl.constexpr, UNITS: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one block of units of some rows."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    source = tl.load(index + row, mask=row < rows, other=0)
    there = (row < rows)[:, None] & (unit < width)[None, :]
    found = tl.load(values + source[:, None] * stride + unit[None, :], mask=there, other=0)
    tl.store(out + row[:, None] * width + unit[None, :], found, mask=there)


@triton.jit(do_not_specialize=["rows"])
def _column_sums(
    out: tl.tensor, partial: tl.tensor, rows: tl.tensor, width: tl.tensor, ROWS: tl.constexpr, UNITS: tl.constexpr
) -> None:
    """One program: some columns."""
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    total = tl.zeros([ROWS, UNITS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        there = (row < rows)[:, None] & (unit < width)[None, :]
        total += tl.load(partial + row[:, None] * width + unit[None, :], mask=there, other=0.0)
    tl.store(out + unit, tl.sum(total, 0), mask=unit < width)
