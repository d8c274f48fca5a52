"""What stands in a table: our figures by row, dataset and way to judge, beside the printed ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import Comparison, compare
from nmrgcl.reproduce.tables.sheet import Figure, Sheet, TableRow

PRINTED = "printed"
SELECTED = {
    "honest": "honest: nothing chosen by the evaluated folds",
    "seen": "settings chosen with the labels of all graphs, the evaluated ones among them",
    "paper": "epoch and C chosen by the evaluated folds",
}
"""Ways to select, in words."""


@dataclass(frozen=True)
class Entry:
    """A figure.

    Attributes:
        line: "printed", "published", or the way to judge (selection or split) of one that was computed here.
        protocol: in words.
        n: trials; None where the source does not say.
        best: whether no other row that sees no labels, and is not tuned by them, has a higher mean on that line.
        devices: that computed it.
    """

    row: str
    group: str
    dataset: str
    line: str
    protocol: str
    figure: Figure
    n: int | None = None
    best: bool = False
    devices: tuple[str, ...] = ()


def entries(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> list[Entry]:
    """Row by row: what is printed, then what was computed, in each way to judge."""
    found = []
    for row in rows:
        for dataset in scores.datasets:
            if dataset in row.printed:
                found.append(Entry(row.name, row.group, dataset, PRINTED, sheet.source, row.printed[dataset]))
            for one in row.published:
                if one.dataset == dataset:
                    words = f"{one.source}; {one.split}"
                    found.append(Entry(row.name, row.group, dataset, f"published, {one.split}", words, one.figure))
        found += _computed(row, scores)
    return _marked(found, {row.name for row in rows if row.sees_labels})


def _computed(row: TableRow, scores: Scores) -> list[Entry]:
    lines = [at[1] for at in scores.wanted if at[0] == row.name]
    found = []
    for line in lines:
        own = scores.of(row.name, line)
        mean, deviation = mean_and_deviation(own)
        for number, dataset in enumerate(scores.datasets):
            n = int(np.isfinite(own[number]).sum())
            if n:
                figure = Figure(float(mean[number]), float(deviation[number]))
                judged = f"{row.protocol or scores.protocol}, {SELECTED.get(line, line)}"
                devices = scores.device_cube[number, scores.wanted.index((row.name, line))]
                kinds = tuple(sorted(set(devices) - {""}))
                found.append(Entry(row.name, row.group, dataset, line, judged, figure, n, devices=kinds))
    return found


def _marked(found: list[Entry], apart: set[str]) -> list[Entry]:
    """The highest mean of each line and dataset as best; of those that look equal all, of a single one none.

    Rows ``apart`` take no part: they had labels that others had not.
    """
    places: dict[tuple[str, str], list[float]] = {}
    for entry in found:
        if entry.row not in apart and entry.figure.mean is not None:
            places.setdefault((entry.line, entry.dataset), []).append(_shown(entry))
    top = {place: max(means) for place, means in places.items() if len(means) > 1}
    return [replace(e, best=e.row not in apart and _shown(e) == top.get((e.line, e.dataset), np.nan)) for e in found]


def _shown(entry: Entry) -> float:
    return np.nan if entry.figure.mean is None else round(entry.figure.mean, 2)


def optimism(scores: Scores, row: str, dataset: str | None = None) -> Comparison | None:
    """What choosing by the evaluated folds adds to ``row``, by seed; over all datasets where none is named.

    Both lines must be of the same trainings, which those of a tuned row are not.
    """
    if (row, "seen") in scores.wanted:
        return None
    names = scores.datasets if dataset is None else (dataset,)
    added = (scores.of(row, "paper") - scores.of(row, "honest"))[scores.on(*names)]
    return compare(added, mixed=scores.mixed((row, "paper"), (row, "honest"), on=names))
