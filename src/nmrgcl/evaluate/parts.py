"""The parts that a split consists of, as protocols see them."""

from typing import Protocol

import numpy as np


class Parts(Protocol):
    """Numbers of graphs or nodes."""

    @property
    def train(self) -> np.ndarray:
        """To learn from."""
        ...

    @property
    def valid(self) -> np.ndarray:
        """To choose by."""
        ...

    @property
    def test(self) -> np.ndarray:
        """To judge on, once."""
        ...
