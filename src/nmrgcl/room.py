"""How large the tensors of a padded batch are."""

from dataclasses import dataclass

from torch import Tensor

STEP = 256
"""Sizes are multiples of this, so that few kernels are compiled for them."""


@dataclass(frozen=True)
class Room:
    """How many nodes and directed edges a padded batch has, including those that no graph of it needs."""

    nodes: int
    edges: int

    @classmethod
    def for_batches(cls, nodes: Tensor, edges: Tensor, batch_size: int) -> "Room":
        """Enough for practically every random batch of ``batch_size`` graphs with these sizes (``[B]`` each).

        A sum of so many draws exceeds its mean by five standard deviations once in millions of batches. It never
        exceeds ``batch_size`` times the largest graph.
        """
        sizes = [nodes.double(), edges.double()]
        bounds = [
            min(s.mean() * batch_size + 5 * s.std(correction=0) * batch_size**0.5, s.max() * batch_size) for s in sizes
        ]
        return cls.of(*map(int, bounds))

    @classmethod
    def of(cls, nodes: int, edges: int) -> "Room":
        """The next multiples of ``STEP`` above ``nodes`` and ``edges``."""
        return cls(nodes // STEP * STEP + STEP, edges // STEP * STEP + STEP)
