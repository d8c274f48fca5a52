"""What stands in a table, as a frame: printed and computed figures by row, dataset and way to judge."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.statistics import Comparison, compare
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow

PRINTED = "printed"
SELECTED = {
    "honest": "honest: nothing chosen by the evaluated folds",
    "seen": "settings chosen with the labels of all graphs, the evaluated ones among them",
    "paper": "epoch and C chosen by the evaluated folds",
}
"""Ways to select, in words."""
COLUMNS = (
    *("row", "group", "dataset", "line", "protocol", "mean", "std", "below"),
    *("n", "best", "low", "high", "devices"),
)
"""Columns of the frames made here, None where one does not apply.

``line`` is "printed", "published", "optimism" or the way to judge (selection or split) of a figure computed here;
``below`` a limit where no mean is printed; ``n`` counts trials; ``best`` marks the highest mean of its line and dataset
among rows that see no labels; ``low`` and ``high`` bound a difference.
"""


def entries(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> pd.DataFrame:
    """Row by row: what is printed, then what was computed, in each way to judge."""
    found = _frame([one for row in rows for one in (*_printed(sheet, row, scores), *_computed(row, scores))])
    apart = [row.name for row in rows if row.sees_labels]  # they had labels that others had not
    means = found["mean"].where(~found["row"].isin(apart)).astype(float).round(2)
    places = means.groupby([found["line"], found["dataset"]])
    # Of means that look equal all are best; a single one is not.
    found["best"] = (means == places.transform("max")) & (places.transform("count") > 1)
    return found


def _printed(sheet: Sheet, row: TableRow, scores: Scores) -> Iterator[Row]:
    for dataset in scores.datasets:
        place = {"row": row.name, "group": row.group, "dataset": dataset}
        if dataset in row.printed:
            yield place | {"line": PRINTED, "protocol": sheet.source} | asdict(row.printed[dataset])
        for one in row.published:
            if one.dataset == dataset:
                words = {"line": f"published, {one.split}", "protocol": f"{one.source}; {one.split}"}
                yield place | words | asdict(one.figure)


def _computed(row: TableRow, scores: Scores) -> Iterator[Row]:
    for line in [at[1] for at in scores.wanted if at[0] == row.name]:
        own, devices = scores.of(row.name, line), scores.device_cube[:, scores.wanted.index((row.name, line))]
        mean, deviation = mean_and_deviation(own)
        for number, dataset in enumerate(scores.datasets):
            if n := int(np.isfinite(own[number]).sum()):
                place = {"row": row.name, "group": row.group, "dataset": dataset, "line": line, "n": n}
                figure = {"mean": float(mean[number]), "std": float(deviation[number])}
                judged = f"{row.protocol or scores.protocol}, {SELECTED.get(line, line)}"
                yield place | figure | {"protocol": judged, "devices": tuple(sorted(set(devices[number]) - {""}))}


def optimism(scores: Scores, row: str, dataset: str | None = None) -> Comparison | None:
    """What choosing by the evaluated folds adds to ``row``, by seed; over all datasets where none is named.

    Both lines must be of the same trainings, which those of a tuned row are not.
    """
    if (row, "seen") in scores.wanted:
        return None
    names = scores.datasets if dataset is None else (dataset,)
    added = (scores.of(row, "paper") - scores.of(row, "honest"))[scores.on(*names)]
    return compare(added, mixed=scores.mixed((row, "paper"), (row, "honest"), on=names))


def optimism_entries(rows: Sequence[TableRow], scores: Scores) -> pd.DataFrame:
    """The optimism of every computed row on every dataset."""
    names, found = {at[0] for at in scores.wanted}, []
    words = {"line": "optimism", "protocol": "paper minus honest", "best": False}
    for row, dataset in ((row, dataset) for row in rows if row.name in names for dataset in scores.datasets):
        if one := optimism(scores, row.name, dataset):
            numbers = {name: value for name, value in one.to_dict().items() if name in ("mean", "low", "high", "n")}
            found.append({"row": row.name, "group": row.group, "dataset": dataset} | words | numbers)
    return _frame(found)


def _frame(found: Sequence[Row]) -> pd.DataFrame:
    """A frame of objects, so that counts stay whole numbers where some are missing."""
    return pd.DataFrame([[one.get(name) for name in COLUMNS] for one in found], columns=COLUMNS, dtype=object)
