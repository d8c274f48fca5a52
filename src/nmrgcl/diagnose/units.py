"""Numbers of any size brought to where their squares neither overflow nor vanish."""

import math

from torch import Tensor

LARGEST = 1000
"""Powers of two beyond this one, and their inverses, may not be float64 numbers."""


def to_unit_range(z: Tensor) -> tuple[Tensor, float]:
    """``z`` over a power of two, so that its largest entry lies between ½ and 1, and that power.

    A power of two changes no digit: what does not depend on units keeps its bits. Zeros stay as they are, and so does
    what is not finite.
    """
    exponent = math.frexp(float(z.abs().max()))[1] if z.numel() else 0
    power = 2.0 ** max(-LARGEST, min(exponent, LARGEST))
    return z * (1 / power), power
