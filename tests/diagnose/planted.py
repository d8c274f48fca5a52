"""Synthetic embeddings with a known kind of collapse, on which the verdict is calibrated."""

from collections.abc import Callable

import numpy as np

from nmrgcl.reproduce.planted import (
    noise_level,
    point_with_noise,
    random_rank,
    subspace_of_the_sphere,
    whole_sphere,
)

Plant = Callable[[np.random.Generator, int, int], np.ndarray]
"""A function from (chance, rows, width) to ``[rows, width]``, with any scale and offset that the case allows."""


def _equal(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return np.tile(chance.normal(size=width), (rows, 1))


def _zero(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return np.zeros((rows, width))


def _nearly_equal_along_a_line(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    point, line = chance.normal(size=(2, width))
    size = 10 ** chance.uniform(-8, -2.5) * np.linalg.norm(point) / np.linalg.norm(line)
    return point + size * chance.normal(size=(rows, 1)) * line


def _subspace(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """A random subspace of up to half of the dimensions that rows could span, with noise."""
    rank = random_rank(chance, rows, width)
    signal = chance.normal(size=(rows, rank)) @ chance.normal(size=(rank, width)) / rank**0.5
    return _offset(chance, signal + noise_level(chance) * chance.normal(size=(rows, width)))


def _some_missing(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """Equal spread in 50 to 85 % of the dimensions that rows could span, and next to none in the rest."""
    most = min(rows - 1, width)
    spread = np.where(np.arange(width) < int(most * chance.uniform(0.5, 0.85)), 1.0, 10 ** chance.uniform(-8, -4))
    return _offset(chance, _with_spectrum(chance, rows, spread))


def _few_live(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """Some dimensions with a signal, and others with noise only."""
    z, rank = chance.normal(size=(rows, width)), random_rank(chance, rows, width)
    z[:, rank:] *= noise_level(chance) * (rank / width) ** 0.5
    return _offset(chance, z[:, chance.permutation(width)])


def _repeats(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """A few dimensions, repeated with either sign."""
    few = chance.normal(size=(rows, random_rank(chance, rows, width)))
    z = few[:, np.arange(width) % few.shape[1]] * chance.choice([-1, 1], size=width)
    return _offset(chance, z + noise_level(chance) * chance.normal(size=(rows, width)))


def _steep(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """A spectrum that falls by a factor of e within 5 to 20 % of the dimensions."""
    most = min(rows - 1, width)
    fall = np.exp(-np.arange(width) / (most * chance.uniform(0.05, 0.2)))
    return _offset(chance, _with_spectrum(chance, rows, fall))


def _gaussian(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return _offset(chance, chance.normal(size=(rows, width)))


def _rectified(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    mixed = chance.normal(size=(rows, width)) @ np.linalg.qr(chance.normal(size=(width, width)))[0]
    return np.maximum(mixed, 0)


def _classes(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """Two to ten groups whose means are 0.5 to 1.5 group radii apart."""
    groups = int(chance.integers(2, 11))
    centres = chance.normal(size=(groups, width)) * chance.uniform(0.5, 1.5) / 2**0.5
    return _offset(chance, centres[chance.integers(groups, size=rows)] + chance.normal(size=(rows, width)))


def _power_law(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return _offset(chance, _with_spectrum(chance, rows, np.arange(1, width + 1) ** -chance.uniform(0, 0.5)))


def _mild_fall(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """The spread of the last dimension is 10 to 100 % of that of the first."""
    return _offset(chance, _with_spectrum(chance, rows, np.geomspace(1, chance.uniform(0.1, 1), width)))


def _long_and_short_rows(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    return chance.normal(size=(rows, width)) * np.exp(0.5 * chance.normal(size=(rows, 1)))


PLANTED: dict[str, dict[str, Plant]] = {
    "complete": {
        "equal rows": _equal,
        "zeros": _zero,
        "a point with noise": point_with_noise,
        "a point with noise along a line": _nearly_equal_along_a_line,
    },
    "dimensional": {
        "a subspace": _subspace,
        "some dimensions missing": _some_missing,
        "few live dimensions": _few_live,
        "repeated dimensions": _repeats,
        "a steep spectrum": _steep,
        "a subspace of the sphere": subspace_of_the_sphere,
    },
    "none": {
        "Gaussian": _gaussian,
        "the whole sphere": whole_sphere,
        "rectified": _rectified,
        "classes": _classes,
        "a power law": _power_law,
        "a mild fall": _mild_fall,
        "long and short rows": _long_and_short_rows,
    },
}
"""For each kind of collapse, named cases and the functions that generate them."""


def plant(make: Plant, chance: np.random.Generator) -> np.ndarray:
    """A case of random scale and shape (50 … 2,000 rows, 4 … 256 dimensions, possibly more dimensions than rows)."""
    rows, width = (round(float(np.exp(chance.uniform(*np.log(ends))))) for ends in ((50, 2000), (4, 256)))
    return (make(chance, rows, width) * 10 ** chance.uniform(-4, 4)).astype(np.float32)


def _offset(chance: np.random.Generator, z: np.ndarray) -> np.ndarray:
    """Shift away from zero by up to ten times the spread."""
    towards = chance.normal(size=z.shape[1])
    length = chance.uniform(0, 10) * np.sqrt(z.var(0).sum()) / np.linalg.norm(towards)
    return np.asarray(z + length * towards)


def _with_spectrum(chance: np.random.Generator, rows: int, spread: np.ndarray) -> np.ndarray:
    turn = np.linalg.qr(chance.normal(size=(len(spread), len(spread))))[0]
    return np.asarray(chance.normal(size=(rows, len(spread))) * spread @ turn)
