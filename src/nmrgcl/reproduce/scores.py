"""Scores of an item as plain rows and as arrays with gaps where a cell is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Row = dict[str, Any]
"""One cell: dataset, a value for each axis, seed, score, protocol, selection, device, key. Plain values."""

CELL = ("dataset", "seed", "score", "protocol", "selection", "device", "key")
"""What every row of a cell has beside the axes."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What is known of an item.

    Attributes:
        datasets: that are wanted, in the order of the picture.
        axes: names of what varies beside dataset and seed.
        wanted: values on the axes, in order.
        seeds: a cell's trials, from 0 on.
        rows: of the cells that are there, or of a measurement.
        protocol: by which cells are judged.
        quick: whether this is a small version.
        asked: where of the cube cells are wanted, ``[datasets, wanted, seeds]``; None: everywhere.
    """

    datasets: tuple[str, ...]
    axes: tuple[str, ...]
    wanted: tuple[tuple[Any, ...], ...]
    seeds: int
    rows: tuple[Row, ...]
    protocol: str = "svm"
    quick: bool = False
    asked: np.ndarray | None = None

    @cached_property
    def cube(self) -> np.ndarray:
        """``[datasets, wanted, seeds]`` scores in percent, NaN where a cell is missing."""
        return self._spread("score", np.nan, float)

    @cached_property
    def device_cube(self) -> np.ndarray:
        """``[datasets, wanted, seeds]`` names of the devices that computed the scores, "" where that is not known."""
        return self._spread("device", "", object)

    def _spread(self, field: str, gap: Any, dtype: type) -> np.ndarray:
        """One field of the rows at the places of the cube."""
        cube: np.ndarray = np.full((len(self.datasets), len(self.wanted), self.seeds), gap, dtype)
        place = {dataset: number for number, dataset in enumerate(self.datasets)}
        level = {at: number for number, at in enumerate(self.wanted)}
        for row in self.rows if self.axes else ():
            d, at = place.get(row["dataset"]), level.get(tuple(row[axis] for axis in self.axes))
            if d is not None and at is not None and 0 <= row["seed"] < self.seeds:
                cube[d, at, row["seed"]] = row[field]
        return cube

    def of(self, *at: Any) -> np.ndarray:
        """``[datasets, seeds]`` at one combination of values; NaN everywhere where it is not wanted."""
        if at not in self.wanted:
            return np.full((len(self.datasets), self.seeds), np.nan)
        scores: np.ndarray = self.cube[:, self.wanted.index(at)]
        return scores

    def mixed(self, *combinations: tuple[Any, ...], on: Sequence[str] = ()) -> tuple[str, ...]:
        """Datasets, among ``on`` if named, where these combinations were computed on different devices for a seed."""
        levels = [self.wanted.index(at) for at in combinations if at in self.wanted]
        kinds = self.device_cube[:, levels]
        differ = [any(len(set(kinds[d, :, s]) - {""}) > 1 for s in range(self.seeds)) for d in range(len(kinds))]
        found = [name for name, differs in zip(self.datasets, differ, strict=True) if differs]
        return tuple(name for name in found if name in (on or self.datasets))

    def on(self, *names: str) -> list[int]:
        """Where those of ``names`` that are wanted stand among the datasets."""
        return [number for number, dataset in enumerate(self.datasets) if dataset in names]

    @property
    def missing(self) -> int:
        """Cells that are wanted and not there."""
        gaps = np.isnan(self.cube)
        return int((gaps if self.asked is None else gaps & self.asked).sum())

    @property
    def cells(self) -> int:
        """That are wanted."""
        return int(self.cube.size if self.asked is None else self.asked.sum())

    @property
    def extent(self) -> str:
        """How many there are, in words."""
        there, total = self.cells - self.missing, self.cells
        gaps = "" if there == total else f", {self.missing} missing"
        trials = f"{self.seeds} seed{'s' if self.seeds > 1 else ''} each"
        judged = f"judge: {self.protocol}" + ("" if "selection" in self.axes else ", honest selection")
        return f"{there} of {total} cells{gaps}; {trials}; {judged}"

    @property
    def devices(self) -> Sequence[str]:
        """Where the cells were trained."""
        return sorted({str(row["device"]) for row in self.rows if row.get("device")})
