"""The parts of a contrastive loss that belong to single pairs: unit length, removal, the loss itself, and gradients."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from nmrgcl.ops import SHORTEST

WIDEST = 4096
"""Units of a row that a program can hold."""


def unit_pairs(z1: Tensor, z2: Tensor, delta: float | None) -> tuple[Tensor, Tensor]:
    """Both views' rows (``[B, D]`` each) at unit length, ``[2B, D]``, and the cosine of each pair, ``[B]``.

    With ``delta`` the cosine is taken without the dimensions whose values in the first view, scaled to 0 … 1, exceed
    it (Eq. 13).
    """
    unit, positive = torch.empty(2 * len(z1), z1.shape[1], device=z1.device), torch.empty(len(z1), device=z1.device)
    _unit_pairs[(len(z1),)](
        unit, positive, z1, z2, len(z1), z1.shape[1], z1.stride(0), z2.stride(0), 0.0 if delta is None else delta,
        SHORTEST,
        REMOVE=delta is not None, WIDTH=triton.next_power_of_2(z1.shape[1]), num_warps=_warps(z1.shape[1]),
    )  # fmt: skip
    return unit, positive


def pair_loss(positive: Tensor, total: Tensor, tau: float, *, counted: bool) -> tuple[Tensor, Tensor]:
    """The mean of ``total − positive/tau`` over the first view's rows, and its gradient for ``total`` (``[2B]``).

    If ``counted``, the positive is a term of its own denominator, and the mean is over the rows of both views (Eq. 14).
    """
    loss, pull = torch.empty((), device=total.device), torch.empty_like(total)
    _pair_loss[(1,)](loss, pull, positive, total, 1 / tau, positive.shape[0], COUNTED=counted, BLOCK=1024)
    return loss, pull


def unit_pairs_back(
    of_unit: Tensor, pull: Tensor, z1: Tensor, z2: Tensor, delta: float | None, tau: float
) -> Tensor:  # fmt: skip
    """``[2B, D]``: the gradient of both views' rows, from that of their unit rows and the ``pull`` of ``pair_loss``."""
    out = torch.empty_like(of_unit)
    _unit_pairs_back[(len(z1),)](
        out, of_unit, pull, z1, z2, len(z1), z1.shape[1], z1.stride(0), z2.stride(0), 0.0 if delta is None else delta,
        SHORTEST, 1 / tau,
        REMOVE=delta is not None, WIDTH=triton.next_power_of_2(z1.shape[1]), num_warps=_warps(z1.shape[1]),
    )  # fmt: skip
    return out


def _warps(width: int) -> int:
    return 1 if width <= 256 else 4


@triton.jit
def _kept_dimensions(first: tl.tensor, inside: tl.tensor, delta: tl.tensor) -> tl.tensor:
    """1 where the scaled value does not exceed ``delta``; a constant row keeps all.

    The division is rounded as on the host: the GPU's fast division puts the highest value of a row above 1.
    """
    low = tl.min(tl.where(inside, first, float("inf")), 0)
    span = tl.max(tl.where(inside, first, float("-inf")), 0) - low
    scaled = tl.where(span > 0, tl.div_rn(first - low, tl.where(span > 0, span, 1.0)), -1.0)
    return tl.where(scaled > delta, 0.0, 1.0)


@triton.jit
def _length(values: tl.tensor, shortest: tl.tensor) -> tl.tensor:
    """The length of a row; infinite for a zero row, so that the row and its gradient, divided by it, are 0."""
    length = tl.sqrt(tl.sum(values * values, 0))
    return tl.where(length <= shortest, float("inf"), length)


@triton.jit(do_not_specialize=["graphs"])
def _unit_pairs(
    unit: tl.tensor, positive: tl.tensor, z1: tl.tensor, z2: tl.tensor, graphs: tl.tensor, width: tl.tensor,
    stride1: tl.tensor, stride2: tl.tensor, delta: tl.tensor, shortest: tl.tensor,
    REMOVE: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one graph."""
    graph, column = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    inside = column < width
    first = tl.load(z1 + graph * stride1 + column, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(z2 + graph * stride2 + column, mask=inside, other=0.0).to(tl.float32)
    first_unit = first / _length(first, shortest)
    tl.store(unit + graph * width + column, first_unit, mask=inside)
    tl.store(unit + (graph + graphs) * width + column, second / _length(second, shortest), mask=inside)
    if REMOVE:
        second = second * _kept_dimensions(first, inside, delta)
    tl.store(positive + graph, tl.sum(first_unit * second / _length(second, shortest), 0))


@triton.jit
def _pair_loss(
    loss: tl.tensor, pull: tl.tensor, positive: tl.tensor, total: tl.tensor, scale: tl.tensor, graphs: tl.tensor,
    COUNTED: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """One program, so that the order of summation is fixed."""
    everything = tl.zeros([BLOCK], tl.float32)
    for start in range(0, graphs, BLOCK):
        graph = start + tl.arange(0, BLOCK)
        there = graph < graphs
        own = tl.load(positive + graph, mask=there, other=0.0) * scale
        for view in tl.static_range(2):
            gap = tl.load(total + view * graphs + graph, mask=there, other=0.0) - own
            if COUNTED:  # log(1 + e^gap), and its slope
                # Both are written with e^−|gap|, which cannot overflow.
                shrunk = tl.exp(-tl.abs(gap))
                everything += tl.where(there, tl.maximum(gap, 0.0) + tl.log(1.0 + shrunk), 0.0) / (2 * graphs)
                slope = tl.where(gap > 0, 1.0, shrunk) / (1.0 + shrunk) / (2 * graphs)
            else:
                slope = tl.full([BLOCK], 0.0, tl.float32)
                if view == 0:
                    everything += tl.where(there, gap, 0.0) / graphs
                    slope += 1.0 / graphs
            tl.store(pull + view * graphs + graph, slope, mask=there)
    tl.store(loss, tl.sum(everything, 0))


@triton.jit(do_not_specialize=["graphs"])
def _unit_pairs_back(
    out: tl.tensor, of_unit: tl.tensor, pull: tl.tensor, z1: tl.tensor, z2: tl.tensor, graphs: tl.tensor,
    width: tl.tensor, stride1: tl.tensor, stride2: tl.tensor, delta: tl.tensor, shortest: tl.tensor, scale: tl.tensor,
    REMOVE: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program: one graph.

    With u = z / |z|, a gradient g of u becomes (g − (g · u) u) / |z| (``nmrgcl.contrast.cosine``). The positive is
    p = c / τ with c = u1 · v, where v is the unit form of z2 ⊙ mask: ∂c/∂z1 = (v − c u1) / |z1| and
    ∂c/∂z2 = mask ⊙ (u1 − c v) / |z2 ⊙ mask|, each times ∂ℓ/∂c = −(q_i + q_{i+B}) / τ, q being ``pull``.
    """
    graph, column = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    inside = column < width
    first = tl.load(z1 + graph * stride1 + column, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(z2 + graph * stride2 + column, mask=inside, other=0.0).to(tl.float32)
    g1 = tl.load(of_unit + graph * width + column, mask=inside, other=0.0)
    g2 = tl.load(of_unit + (graph + graphs) * width + column, mask=inside, other=0.0)
    length1, length2 = _length(first, shortest), _length(second, shortest)
    unit1, unit2 = first / length1, second / length2
    g1 = (g1 - unit1 * tl.sum(unit1 * g1, 0)) / length1
    g2 = (g2 - unit2 * tl.sum(unit2 * g2, 0)) / length2
    kept = tl.full([WIDTH], 1.0, tl.float32)
    if REMOVE:
        kept = _kept_dimensions(first, inside, delta)
        second = second * kept
        length2 = _length(second, shortest)
        unit2 = second / length2
    cosine = tl.sum(unit1 * unit2, 0)
    on_positive = -scale * (tl.load(pull + graph) + tl.load(pull + graphs + graph))
    g1 += on_positive * (unit2 - cosine * unit1) / length1
    g2 += on_positive * kept * (unit1 - cosine * unit2) / length2
    tl.store(out + graph * width + column, g1, mask=inside)
    tl.store(out + (graph + graphs) * width + column, g2, mask=inside)
