"""Synthetic embeddings ``[rows, width]`` whose kind of collapse is known by construction."""

import numpy as np


def point_with_noise(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """Complete collapse: one point with noise of 10⁻⁸ to 3·10⁻³ of its length."""
    point = chance.normal(size=width)
    noise = chance.normal(size=(rows, width)) * np.linalg.norm(point) / width**0.5
    return point + 10 ** chance.uniform(-8, -2.5) * noise


def subspace_of_the_sphere(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """Dimensional collapse: noisy unit vectors in up to half of the dimensions that the rows could span."""
    rank = max(2, random_rank(chance, rows, width))
    z = chance.normal(size=(rows, rank)) @ np.linalg.qr(chance.normal(size=(width, rank)))[0].T
    # Relative to the root mean square spread over all dimensions, which is √(rank / width).
    z += noise_level(chance) * chance.normal(size=z.shape) * (rank / width) ** 0.5
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def whole_sphere(chance: np.random.Generator, rows: int, width: int) -> np.ndarray:
    """No collapse: unit vectors in all directions."""
    z = chance.normal(size=(rows, width))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def random_rank(chance: np.random.Generator, rows: int, width: int) -> int:
    """A random rank from one to half of the dimensions that the rows could span."""
    return int(chance.integers(1, min(rows - 1, width) // 2 + 1))


def noise_level(chance: np.random.Generator) -> float:
    """A random noise level from zero to a tenth of the root mean square spread of all dimensions."""
    return float(chance.choice([0, 10 ** chance.uniform(-5, -1), chance.uniform(0.01, 0.1)]))
