"""Scale numbers so that their squares neither overflow nor underflow."""

import math

from torch import Tensor

LARGEST = 1000
"""The largest exponent used; larger powers of two, or their inverses, may not be representable in float64."""


def to_unit_range(z: Tensor) -> tuple[Tensor, float]:
    """``z`` divided by a power of two, so that its largest entry lies between ½ and 1, and that power.

    Division by a power of two is exact, so scale-invariant results do not change by a bit. Zeros and non-finite values
    stay as they are.
    """
    exponent = math.frexp(float(z.abs().max()))[1] if z.numel() else 0
    power = 2.0 ** max(-LARGEST, min(exponent, LARGEST))
    return z * (1 / power), power
