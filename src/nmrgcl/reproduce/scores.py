"""The scores of an item as plain rows, and as arrays with gaps for missing cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Row = dict[str, Any]
"""A cell as plain values: dataset, a value for each axis, seed, score, protocol, selection, device and key."""

CELL = ("dataset", "seed", "score", "protocol", "selection", "device", "key")
"""The fields that every row of a cell has besides the axes."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of an item.

    Attributes:
        datasets: the datasets of the plan, in the order of the picture.
        axes: the names of what varies besides dataset and seed.
        wanted: the combinations of values on the axes, in order.
        seeds: the number of seeds, counted from 0.
        rows: the rows of finished cells, or of a measurement.
        protocol: the evaluation protocol.
        quick: whether this is a quick version.
        asked: a mask ``[datasets, wanted, seeds]`` of the cells that belong to the plan; None: all.
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
        """Scores ``[datasets, wanted, seeds]`` in percent, NaN for missing cells."""
        return self._spread("score", np.nan, float)

    @cached_property
    def device_cube(self) -> np.ndarray:
        """The names ``[datasets, wanted, seeds]`` of the devices that computed the scores, "" if not known."""
        return self._spread("device", "", object)

    def measure(self, name: str) -> np.ndarray:
        """A measure of the trainings ``[datasets, wanted, seeds]``, NaN where it was not recorded."""
        return self._spread(name, np.nan, float)

    def _spread(self, field: str, gap: Any, dtype: type) -> np.ndarray:
        """One field of the rows as an array shaped like the cube."""
        cube: np.ndarray = np.full((len(self.datasets), len(self.wanted), self.seeds), gap, dtype)
        place = {dataset: number for number, dataset in enumerate(self.datasets)}
        level = {at: number for number, at in enumerate(self.wanted)}
        for row in self.rows if self.axes else ():
            d, at = place.get(row["dataset"]), level.get(tuple(row[axis] for axis in self.axes))
            if d is not None and at is not None and 0 <= row["seed"] < self.seeds:
                value = row.get(field)
                cube[d, at, row["seed"]] = gap if value is None else value
        return cube

    def of(self, *at: Any) -> np.ndarray:
        """The scores ``[datasets, seeds]`` for one combination of values; NaN if it is not part of the plan."""
        if at not in self.wanted:
            return np.full((len(self.datasets), self.seeds), np.nan)
        scores: np.ndarray = self.cube[:, self.wanted.index(at)]
        return scores

    def mixed(self, *combinations: tuple[Any, ...], on: Sequence[str] = ()) -> tuple[str, ...]:
        """The datasets (of ``on``, if given) for which some seed of these combinations used different devices."""
        levels = [self.wanted.index(at) for at in combinations if at in self.wanted]
        kinds = self.device_cube[:, levels]
        differ = [any(len(set(kinds[d, :, s]) - {""}) > 1 for s in range(self.seeds)) for d in range(len(kinds))]
        found = [name for name, differs in zip(self.datasets, differ, strict=True) if differs]
        return tuple(name for name in found if name in (on or self.datasets))

    def on(self, *names: str) -> list[int]:
        """The indices of those of ``names`` that are among the datasets."""
        return [number for number, dataset in enumerate(self.datasets) if dataset in names]

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        gaps = np.isnan(self.cube)
        return int((gaps if self.asked is None else gaps & self.asked).sum())

    @property
    def cells(self) -> int:
        """The number of cells of the plan."""
        return int(self.cube.size if self.asked is None else self.asked.sum())

    @property
    def extent(self) -> str:
        """How much is computed, in words."""
        there, total = self.cells - self.missing, self.cells
        gaps = "" if there == total else f", {self.missing} missing"
        trials = f"{self.seeds} seed{'s' if self.seeds > 1 else ''} each"
        judged = f"judge: {self.protocol}" + ("" if "selection" in self.axes else ", honest selection")
        return f"{there} of {total} cells{gaps}; {trials}; {judged}"

    @property
    def devices(self) -> Sequence[str]:
        """The devices on which cells were trained."""
        return sorted({str(row["device"]) for row in self.rows if row.get("device")})
