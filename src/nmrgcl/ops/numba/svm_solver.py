"""LIBSVM's algorithm for one support vector machine in vector instructions: the same steps, so the same numbers.

The dual, with y = ±1 and β = y α, is to minimise ½ βᵀ K β − yᵀ β with Σ β = 0 and each α between 0 and C. With the
slope f = K β − y, a step takes two rows (Fan, Chen & Lin 2005: second order)

    i: of those whose β may rise, the lowest f
    j: of those whose β may fall, the highest (f_j − f_i)² / (K_ii + K_jj − 2 K_ij)

and moves β_i up and β_j down by as much as helps and the bounds allow. It ends when no pair violates optimality by
the tolerance. Rows that seem to stay at a bound are left out for a while (shrinking), which matters most for large C.

K is float32 and all else float64, as in LIBSVM. Ties, the order of rows and of sums are LIBSVM's as well, and nothing
is reassociated or fused: on x86 every solution equals scikit-learn's bit for bit. Elsewhere a compiler may have
fused operations in LIBSVM, and solutions agree within the tolerance.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, float64, njit, types, uint64
from numba.extending import intrinsic

from nmrgcl.home import home
from nmrgcl.lock import locked

TOLERANCE, FLATTEST = 1e-3, 1e-12
"""LIBSVM's: the violation at which a machine is solved, and the least curvature of a step."""
SHRINK_EVERY = 1000
BLOCK = 128
"""Rows that are searched for their minimum at once before one looks where it is."""
TOGETHER = 8
"""Test rows that are decided about at once."""
OPTIONS: dict[str, Any] = {"fastmath": {"nnan", "nsz"}, "error_model": "numpy"}  # neither changes a rounded result

SIGN, SLOPE, ALPHA, DIAGONAL, RISE, FALL = range(6)
"""Lines of the state, one column per row. RISE is 0 if β may rise, otherwise ∞; FALL is 0 if it may fall, or −∞."""

Array = np.ndarray


@cache
def compiled() -> Callable[[Array, Array, Array, int, Array], Array]:
    """``decisions`` as machine code, from the cache in the nmrgcl home if an earlier process compiled it."""
    folder = home() / "numba"
    matrix, vector = (types.Array(types.float64, n, "C", readonly=True) for n in (2, 1))
    rows = types.Array(types.int64, 1, "C", readonly=True)
    signature = types.Array(types.float64, 2, "C")(matrix, matrix, rows, types.int64, vector)
    with locked(folder, wait=True):
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            found: Any = njit(signature, cache=True, **OPTIONS)(decisions)
        finally:
            config.CACHE_DIR = before
    return found


def decisions(kernel: Array, kernel_test: Array, rows: Array, positives: int, penalties: Array) -> Array:
    """``[penalties, m]`` the decisions about ``m`` test rows between two classes; positive for the first class.

    Args:
        kernel: ``[n, n]`` of all training rows.
        kernel_test: ``[m, n]``.
        rows: the training rows of the two classes, those of the first class first.
        positives: how many of them belong to the first class.
        penalties: C.
    """
    size = len(rows)
    own, diagonal = np.empty((size, size), np.float32), np.empty(size)
    for k in range(size):
        diagonal[k] = kernel[rows[k], rows[k]]
        for other in range(size):
            own[k, other] = kernel[rows[k], rows[other]]
    spare, found = np.empty((size, size), np.float32), np.empty((len(penalties), len(kernel_test)))
    for number in range(len(penalties)):
        beta, threshold = solve(own, diagonal, positives, penalties[number], spare)
        for first in range(0, len(kernel_test), TOGETHER):
            _decide(found, number, first, kernel_test, rows, beta, threshold)
    return found


@njit(**OPTIONS)
def _decide(
    found: Array, number: int, first: int, kernel_test: Array, rows: Array, beta: Array, threshold: float
) -> None:
    """Sum over support vectors one after another, as LIBSVM does, but for several test rows side by side."""
    few, sums = min(TOGETHER, len(kernel_test) - first), np.zeros(TOGETHER)
    for k in range(len(beta)):
        if beta[k] != 0.0:
            for test in range(few):
                sums[test] += beta[k] * kernel_test[first + test, rows[k]]
    for test in range(few):
        found[number, first + test] = sums[test] - threshold


@njit(**OPTIONS)
def solve(kernel: Array, diagonal: Array, positives: int, penalty: float, spare: Array) -> tuple[Array, float]:
    """β and the threshold of one machine, whose first ``positives`` rows have y = 1; ``spare`` is ``[n, n]`` too."""
    n, state = len(kernel), _start(diagonal, positives)
    sign, slope, alpha, rise, fall = state[SIGN], state[SLOPE], state[ALPHA], state[RISE], state[FALL]
    at_penalty = np.zeros(n)  # K β of the rows at C alone, from which slopes of rows that were left out are computed
    order = np.arange(n)  # the row in each column of the state; the first `active` columns take part
    rows, active, restored, checking = kernel, n, False, False
    # After the first exchange of columns, `rows` is `spare`, which holds active columns of rows as they were when
    # `changed` had the length `seen`.
    changed, changes, seen = np.empty(4 * n, np.int64), 0, np.empty(n, np.int64)
    _forget(seen)
    until_shrinking = min(n, SHRINK_EVERY) + 1
    lowest, i = _lowest(slope, rise, active)
    while True:
        # LIBSVM selects a pair again after it has restored all rows. That belongs to the same iteration and is not
        # counted.
        until_shrinking -= not checking
        if until_shrinking == 0:
            until_shrinking = min(n, SHRINK_EVERY)
            highest = _highest(slope, fall, active)
            # LIBSVM's unshrinking: once, when nearly solved, all rows get another chance.
            if not restored and highest - lowest <= 10 * TOLERANCE:
                restored, active, changes = True, _restore(kernel, state, order, at_penalty, active, penalty, seen), 0
            active, changes = _shrink(state, order, active, lowest, highest, changed, changes, seen)
            if changes > 0:
                rows = spare
            lowest, i = _lowest(slope, rise, active)
        _look_up(kernel, rows, order, active, i, changed, changes, seen)
        j = _partner(rows, order[i], state, active, lowest, state[DIAGONAL, i])
        if j < 0:
            if active == n:
                break
            active, changes = _restore(kernel, state, order, at_penalty, active, penalty, seen), 0
            lowest, i = _lowest(slope, rise, active)
            checking = True
            continue
        # Rows that were left out did violate optimality, so LIBSVM shrinks anew in the next iteration.
        if checking:
            until_shrinking, checking = 1, False
        _look_up(kernel, rows, order, active, j, changed, changes, seen)
        before_i, before_j = alpha[i], alpha[j]
        curve = _curve(state[DIAGONAL, i], state[DIAGONAL, j], rows[order[i], j])
        alpha[i], alpha[j] = _moved(before_i, before_j, sign[i], sign[j], (slope[j] - slope[i]) / curve, penalty)
        _note_bounds(kernel, state, order, at_penalty, i, before_i, penalty)
        _note_bounds(kernel, state, order, at_penalty, j, before_j, penalty)
        by_i, by_j = (alpha[i] - before_i) * sign[i], (alpha[j] - before_j) * sign[j]
        lowest, i = _move_slopes(slope, rise, rows, order[i], order[j], by_i, by_j, active)
    beta = np.empty(n)
    for k in range(n):
        beta[order[k]] = alpha[k] * sign[k]
    return beta, _threshold(slope, alpha, rise, penalty)


@njit(**OPTIONS)
def _start(diagonal: Array, positives: int) -> Array:
    state = np.zeros((6, len(diagonal)))
    for k in range(len(diagonal)):
        positive = k < positives
        state[SIGN, k], state[SLOPE, k] = (1.0, -1.0) if positive else (-1.0, 1.0)
        state[RISE, k], state[FALL, k] = (0.0, -np.inf) if positive else (np.inf, 0.0)
        state[DIAGONAL, k] = diagonal[k]
    return state


@njit(**OPTIONS)
def _note_bounds(
    kernel: Array, state: Array, order: Array, at_penalty: Array, k: int, before: float, penalty: float
) -> None:
    """Note in which directions the β of column ``k`` may move now; ``before`` is what its α was."""
    sign, full, empty = state[SIGN, k], state[ALPHA, k] >= penalty, state[ALPHA, k] <= 0.0
    if sign < 0:
        top, bottom = empty, full
    else:
        top, bottom = full, empty
    state[RISE, k], state[FALL, k] = np.inf if top else 0.0, -np.inf if bottom else 0.0
    if full != (before >= penalty):
        weight, row = (sign if full else -sign) * penalty, order[k]
        for other in range(len(order)):
            at_penalty[other] += weight * kernel[row, other]


@njit(**OPTIONS)
def _forget(seen: Array) -> None:
    for row in range(len(seen)):
        seen[row] = -1


@njit(**OPTIONS)
def _lowest(slope: Array, rise: Array, active: int) -> tuple[float, int]:
    """The lowest slope of those that may rise, and its last column."""
    lowest = np.inf
    for k in range(active):
        lowest = _minimum(lowest, slope[k] + rise[k])
    return lowest, _last(slope, rise, lowest, 0, active)


@njit(**OPTIONS)
def _highest(slope: Array, fall: Array, active: int) -> float:
    highest = -np.inf
    for k in range(active):
        highest = _maximum(highest, slope[k] + fall[k])
    return highest


@njit(**OPTIONS)
def _last(slope: Array, rise: Array, value: float, start: int, stop: int) -> int:
    # LIBSVM compares with ≥, so the last of equal values wins.
    for k in range(stop - 1, start - 1, -1):
        if slope[k] + rise[k] == value:
            return k
    return start


@njit(**OPTIONS)
def _move_slopes(
    slope: Array, rise: Array, rows: Array, i: int, j: int, by_i: float, by_j: float, active: int
) -> tuple[float, int]:
    """Add the change of K β to the slopes; return what ``_lowest`` would."""
    lowest, where = np.inf, 0
    for start in range(0, active, BLOCK):
        here = np.inf
        # Unsigned, because Numba's check for negative indices would keep the loop from being vectorised.
        for k in range(uint64(start), uint64(min(start + BLOCK, active))):
            new = slope[k] + (rows[i, k] * by_i + rows[j, k] * by_j)
            slope[k] = new
            here = _minimum(here, new + rise[k])
        if here <= lowest:
            lowest, where = here, start
    return lowest, _last(slope, rise, lowest, where, min(where + BLOCK, active))


@njit(**OPTIONS)
def _partner(rows: Array, row: int, state: Array, active: int, lowest: float, own: float) -> int:
    """The last of the columns that gain the most together with column ``row`` of ``rows``; −1 if all is solved."""
    slope, fall, diagonal = state[SLOPE], state[FALL], state[DIAGONAL]
    highest, most, where = -np.inf, -1.0, 0
    for start in range(0, active, BLOCK):
        here = -1.0
        for k in range(uint64(start), uint64(min(start + BLOCK, active))):
            value = slope[k] + fall[k]
            highest = _maximum(highest, value)
            apart = value - lowest
            gain = apart * apart / _curve(own, diagonal[k], rows[row, k])
            here = _maximum(here, _choose(apart > 0.0, gain, -1.0))
        if here >= most:
            most, where = here, start
    if most >= 0.0 and highest - lowest >= TOLERANCE:
        for k in range(min(where + BLOCK, active) - 1, where - 1, -1):
            apart = slope[k] + fall[k] - lowest
            if apart > 0.0 and apart * apart / _curve(own, diagonal[k], rows[row, k]) == most:
                return k
    return -1


@njit(**OPTIONS)
def _curve(one: float, other: float, between: float) -> float:
    curve = (one + other) - 2.0 * between
    return _choose(curve > 0.0, curve, FLATTEST)


@njit(**OPTIONS)
def _moved(one: float, other: float, sign: float, other_sign: float, by: float, penalty: float) -> tuple[float, float]:
    """α of the row whose β rises and of the row whose β falls, after a step of length ``by`` inside the bounds."""
    total, apart = one + other, one - other
    one, other = one + sign * by, other - other_sign * by
    if sign != other_sign:  # both rise or both fall, and `apart` stays
        rising = sign > 0
        limit = penalty if rising else 0.0
        if (apart > 0) == rising:
            if one > limit if rising else one < limit:
                one, other = limit, limit - apart
        elif other > limit if rising else other < limit:
            one, other = limit + apart, limit
    elif total > penalty:  # `total` stays
        if one > penalty:
            one, other = penalty, total - penalty
        elif other > penalty:
            one, other = total - penalty, penalty
    elif one < 0:
        one, other = 0.0, total
    elif other < 0:
        one, other = total, 0.0
    return one, other


@njit(**OPTIONS)
def _look_up(
    kernel: Array, rows: Array, order: Array, active: int, column: int, changed: Array, changes: int, seen: Array
) -> None:
    """Bring the row of a column up to date in ``rows`` where that is a copy whose columns follow ``order``."""
    row = order[column]
    since = seen[row]
    if rows is kernel or since == changes:
        return
    seen[row] = changes
    if since < 0 or changes - since > active:
        for k in range(active):
            rows[row, k] = kernel[row, order[k]]
    else:
        for number in range(since, changes):
            k = changed[number]
            if k < active:
                rows[row, k] = kernel[row, order[k]]


@njit(**OPTIONS)
def _shrink(
    state: Array, order: Array, active: int, lowest: float, highest: float, changed: Array, changes: int, seen: Array
) -> tuple[int, int]:
    """Leave out rows at a bound whose slopes are beyond those of all that may move; last columns take their place."""
    k = 0
    while k < active:
        if _leaves(state, k, lowest, highest):
            active -= 1
            while active > k and _leaves(state, active, lowest, highest):
                active -= 1
            if active > k:
                for line in range(len(state)):
                    state[line, k], state[line, active] = state[line, active], state[line, k]
                order[k], order[active] = order[active], order[k]
                if changes == len(changed):
                    changes = 0
                    _forget(seen)
                changed[changes] = k
                changes += 1
        k += 1
    return active, changes


@njit(**OPTIONS)
def _leaves(state: Array, k: int, lowest: float, highest: float) -> bool:
    if state[RISE, k] != 0.0:
        return state[SLOPE, k] < lowest
    return state[FALL, k] != 0.0 and state[SLOPE, k] > highest


@njit(**OPTIONS)
def _restore(
    kernel: Array, state: Array, order: Array, at_penalty: Array, active: int, penalty: float, seen: Array
) -> int:
    """Compute the slopes of the rows that were left out, and return the number of columns, which take part again."""
    _forget(seen)
    n, free = len(order), 0
    for k in range(active):
        free += 0.0 < state[ALPHA, k] < penalty
    by_row = free * n > 2 * active * (n - active)  # LIBSVM's choice: K need not be symmetric to the last bit
    for k in range(active, n):
        state[SLOPE, k] = at_penalty[order[k]] - state[SIGN, k]
    for one in range(active):
        if 0.0 < state[ALPHA, one] < penalty:
            weight = state[ALPHA, one] * state[SIGN, one]
            for k in range(active, n):
                between = kernel[order[k], order[one]] if by_row else kernel[order[one], order[k]]
                state[SLOPE, k] += weight * between
    return n


@njit(**OPTIONS)
def _threshold(slope: Array, alpha: Array, rise: Array, penalty: float) -> float:
    """The mean slope of rows between the bounds; without any, the middle between those at the bounds."""
    count, total, least, most = 0, 0.0, np.inf, -np.inf
    for k in range(len(slope)):
        if 0.0 < alpha[k] < penalty:
            count += 1
            total += slope[k]
        elif rise[k] == 0.0:
            least = min(least, slope[k])
        else:
            most = max(most, slope[k])
    return total / count if count > 0 else (least + most) / 2


def _float_intrinsic(name: str) -> Any:
    """LLVM's minimum or maximum of two numbers: Numba's own, written as a branch, keeps loops from being vectorised."""

    @intrinsic
    def function(context: Any, one: Any, other: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            double = ir.DoubleType()
            called = builder.module.declare_intrinsic(name, [double], ir.FunctionType(double, [double, double]))
            return builder.call(called, arguments, fastmath=tuple(OPTIONS["fastmath"]))

        return float64(float64, float64), generate

    return function


@intrinsic
def _choose(context: Any, condition: Any, one: Any, other: Any) -> Any:
    """``one if condition else other`` without a branch."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return float64(types.boolean, float64, float64), generate


_minimum, _maximum = _float_intrinsic("llvm.minnum"), _float_intrinsic("llvm.maxnum")
