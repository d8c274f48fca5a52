"""Random numbers of one stream, whether a batch is divided or not: each rank gets those of its own graphs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from nmrgcl.graphs import Graphs


class Draws:
    """Stands in for ``torch.rand`` and the like.

    An axis as long as this rank's graphs, nodes or edges (or twice its graphs, for two walks) gets the numbers that one
    process would give them. Anything else, and if ``constant`` everything, is 0.5, however the batch is divided.
    """

    def __init__(self, parts: Sequence[Graphs], rank: int, seed: int, *, constant: bool = False) -> None:
        counts = [(part.num_graphs, part.num_nodes, part.num_edges) for part in parts]
        self.axes: dict[int, list[slice]] = {}
        self.whole: dict[int, int] = {}
        for kind in range(3):
            sizes = [count[kind] for count in counts]
            own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
            self._note(sizes[rank], sum(sizes), [own])
            if kind == 0:
                again = slice(own.start + sum(sizes), own.stop + sum(sizes))
                self._note(2 * sizes[rank], 2 * sum(sizes), [own, again])
        if constant:
            self.axes = {}
        self.generator = torch.Generator().manual_seed(seed)

    def _note(self, size: int, whole: int, places: list[slice]) -> None:
        assert size not in self.axes, "sizes of this rank must differ, so that they can be told apart"
        self.axes[size], self.whole[size] = places, whole

    def rand(self, *size: Any, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
        shape = [int(n) for n in (size[0] if isinstance(size[0], Sequence) else size)]
        axis = next((axis for axis, n in enumerate(shape) if n in self.axes), None)
        if axis is None:
            return torch.full(shape, 0.5, dtype=dtype)
        n = shape[axis]
        whole = torch.empty([*shape[:axis], self.whole[n], *shape[axis + 1 :]], dtype=torch.float64)
        whole.uniform_(generator=self.generator)
        whole = whole.movedim(axis, 0)
        drawn = torch.cat([whole[place] for place in self.axes[n]]).movedim(0, axis)
        return drawn.to(dtype or torch.get_default_dtype())

    def rand_like(self, tensor: Tensor, **options: Any) -> Tensor:
        return self.rand(*tensor.shape, dtype=tensor.dtype)

    def randint(self, low: int, high: Any, size: Any = None, **options: Any) -> Tensor:
        low, high, size = (0, low, high) if size is None else (low, high, size)
        return (low + self.rand(*size, dtype=torch.float64) * (high - low)).long()


@contextmanager
def drawn(parts: Sequence[Graphs], rank: int, seed: int, *, constant: bool = False) -> Iterator[None]:
    draws = Draws(parts, rank, seed, constant=constant)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("rand", "rand_like", "randint"):
            patch.setattr(torch, name, getattr(draws, name))
        yield
