"""The entries of a table: printed and computed scores by row, dataset and evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import Comparison, compare
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow

PRINTED = "printed"
SELECTED = {
    "honest": "honest: nothing chosen by the evaluated folds",
    "seen": "settings chosen with the labels of all graphs, the evaluated ones among them",
    "paper": "epoch and C chosen by the evaluated folds",
}
"""The selections in words."""


@dataclass(frozen=True)
class Entry:
    """A score in a table.

    Attributes:
        line: "printed", "published", "optimism" or, for scores computed here, the selection or split.
        protocol: the evaluation in words.
        below: an upper limit that is printed instead of a mean.
        n: the number of seeds; None if the source does not say.
        best: whether it is the highest mean on its line and dataset among rows that see no labels.
        low: the lower end of the interval of a difference.
        high: the upper end.
        devices: the devices that computed it.
    """

    row: str
    group: str
    dataset: str
    line: str
    protocol: str
    mean: float | None = None
    std: float | None = None
    below: float | None = None
    n: int | None = None
    best: bool = False
    low: float | None = None
    high: float | None = None
    devices: tuple[str, ...] = ()


def entries(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> list[Entry]:
    """For each row, the printed scores and then the computed ones of each line."""
    found = [one for row in rows for one in (*_printed(sheet, row, scores), *_computed(row, scores))]
    apart = {row.name for row in rows if row.sees_labels}  # They had labels that the others did not have.
    places: dict[tuple[str, str], list[float]] = {}
    for entry in found:
        if entry.row not in apart and entry.mean is not None:
            places.setdefault((entry.line, entry.dataset), []).append(round(entry.mean, 2))
    # All means that are printed the same are best; a mean without competitors is not.
    top = {place: max(means) for place, means in places.items() if len(means) > 1}
    best = [
        entry.row not in apart
        and entry.mean is not None
        and round(entry.mean, 2) == top.get((entry.line, entry.dataset))
        for entry in found
    ]
    return [replace(entry, best=mark) for entry, mark in zip(found, best, strict=True)]


def _printed(sheet: Sheet, row: TableRow, scores: Scores) -> Iterator[Entry]:
    for dataset in scores.datasets:
        place = row.name, row.group, dataset
        if dataset in row.printed:
            yield Entry(*place, PRINTED, sheet.source, **asdict(row.printed[dataset]))
        for one in row.published:
            if one.dataset == dataset:
                yield Entry(*place, f"published, {one.split}", f"{one.source}; {one.split}", **asdict(one.figure))


def _computed(row: TableRow, scores: Scores) -> Iterator[Entry]:
    for line in [at[1] for at in scores.wanted if at[0] == row.name]:
        own, devices = scores.of(row.name, line), scores.device_cube[:, scores.wanted.index((row.name, line))]
        mean, deviation = mean_and_deviation(own)
        judged = f"{row.protocol or scores.protocol}, {SELECTED.get(line, line)}"
        for number, dataset in enumerate(scores.datasets):
            if n := int(np.isfinite(own[number]).sum()):
                kinds = tuple(sorted(set(devices[number]) - {""}))
                figure = float(mean[number]), float(deviation[number])
                yield Entry(row.name, row.group, dataset, line, judged, *figure, n=n, devices=kinds)


def optimism(scores: Scores, row: str, dataset: str | None = None) -> Comparison | None:
    """What choosing on the test folds adds to ``row``, paired by seed, on ``dataset`` or on all.

    Both lines must come from the same trainings, which is not the case for a tuned row.
    """
    if (row, "seen") in scores.wanted:
        return None
    names = scores.datasets if dataset is None else (dataset,)
    added = (scores.of(row, "paper") - scores.of(row, "honest"))[scores.on(*names)]
    return compare(added, mixed=scores.mixed((row, "paper"), (row, "honest"), on=names))


def optimism_entries(rows: Sequence[TableRow], scores: Scores) -> Iterator[Entry]:
    """The optimism of every computed row on every dataset."""
    names = {at[0] for at in scores.wanted}
    for row, dataset in ((row, dataset) for row in rows if row.name in names for dataset in scores.datasets):
        if one := optimism(scores, row.name, dataset):
            numbers = {name: value for name, value in one.to_dict().items() if name in ("mean", "low", "high", "n")}
            yield Entry(row.name, row.group, dataset, "optimism", "paper minus honest", **numbers)
