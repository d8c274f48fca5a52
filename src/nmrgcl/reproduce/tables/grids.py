"""The tables in the report of a table: scores, distance to printed ones, optimism, tests, ranks and times."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nmrgcl.report.grid import MISSING, Grid
from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare
from nmrgcl.reproduce.tables.cell_texts import (
    device_marks,
    figure_text,
    interval_text,
    line_text,
    marks_text,
    pair_text,
)
from nmrgcl.reproduce.tables.entries import PRINTED, Entry, optimism
from nmrgcl.reproduce.tables.nested import searched
from nmrgcl.reproduce.tables.pairs import pairs_against
from nmrgcl.reproduce.tables.ranking import Ranking
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow

CellText = Callable[[TableRow, int, str], str]
"""From row, index and name of a dataset to the text of a cell."""


def results_grid(sheet: Sheet, found: Sequence[Entry], scores: Scores) -> Grid:
    """Printed and computed scores, one line each."""
    lines: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in found:
        lines.setdefault((entry.row, entry.line), {})[entry.dataset] = entry
    rows, groups, marks, last = [], [], device_marks(found), ""
    for (row, _), by_dataset in lines.items():
        first = next(iter(by_dataset.values()))
        cells = [figure_text(by_dataset.get(dataset), scores.seeds, marks) for dataset in scores.datasets]
        rows.append([row if row != last else "", line_text(first), *cells])
        groups.append(first.group)
        last = row
    caption = (
        f"Figures in %, mean ± sample standard deviation over n = {scores.seeds} seeds, or as many as it says; "
        f"printed: {sheet.source}. {sheet.bold} {MISSING}: there is no figure. "
        f"{marks_text(marks)}{_searches(sheet, scores)}"
    )
    head = ("row", "figures", *_labels(sheet, scores))
    return Grid("results", "Results", caption, head, rows, groups, names=2)


def short_grid(
    sheet: Sheet, rows: Sequence[TableRow], found: Sequence[Entry], scores: Scores, line: str, *, own: bool
) -> Grid | None:
    """One line per computed row with the published mean in brackets; datasets without scores are left out.

    The published mean is that of the paper or, on a line that is not the table's ``own``, that of other papers.
    """
    places = {(entry.row, entry.dataset, entry.line): entry for entry in found}
    marks = device_marks([entry for entry in found if entry.line == line])

    def text(row: TableRow, number: int, dataset: str) -> str:
        ours = figure_text(places.get((row.name, dataset, line)), scores.seeds, marks)
        theirs = places.get((row.name, dataset, PRINTED if own else f"published, {line}"))
        if ours == MISSING or theirs is None or theirs.mean is None:
            return ours
        return type(ours)(f"{ours} ({theirs.mean:.2f})")

    source = sheet.source if own else "what other papers print for that split"
    caption = (
        f"{line}, mean ± sample standard deviation over n = {scores.seeds} seeds; in brackets: {source}. {sheet.bold} "
        f"{marks_text(marks)}{_searches(sheet, scores)}"
    )
    grid = _by_dataset(sheet, rows, scores, text, "short", "Results", caption)
    if grid is None:
        return None
    kept = [n for n in range(len(grid.head)) if any(cells[n] != MISSING for cells in grid.rows)]
    shown = [[cells[n] for n in kept] for cells in grid.rows]
    return replace(grid, head=[grid.head[n] for n in kept], rows=shown)


def distance_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores, line: str) -> Grid | None:
    """Ours minus the printed mean, with an interval that reflects only our seeds."""

    def text(row: TableRow, number: int, dataset: str) -> str:
        printed = row.printed.get(dataset)
        if printed is None or printed.mean is None:
            return MISSING
        return interval_text(compare(scores.of(row.name, line)[[number]] - printed.mean))

    caption = (
        f"Ours ({line}) minus the printed mean, with the 95 % interval over our seeds; that of the printed figures, "
        "whose trials are not published, is not in it. Bold: zero is outside."
    )
    return _by_dataset(sheet, rows, scores, text, "distance", "Ours minus printed", caption)


def optimism_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> Grid | None:
    """Selection on the test folds minus honest selection, by dataset and overall."""
    caption = (
        "Points of accuracy that come from choosing epoch and C by the evaluated folds: the same trainings, selection "
        "paper minus honest, paired by seed, with 95 % intervals. Bold: zero is outside."
    )
    title = "Optimism of choosing by the evaluated folds"
    text: CellText = lambda row, number, dataset: interval_text(optimism(scores, row.name, dataset))  # noqa: E731
    grid = _by_dataset(sheet, rows, scores, text, "optimism", title, caption)
    if grid is None:
        return None
    lines = [[*cells, interval_text(optimism(scores, cells[0]))] for cells in grid.rows]
    return replace(grid, head=[*grid.head, "all datasets"], rows=lines)


def pairs_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores, line: str) -> Grid | None:
    """Every row compared with the reference of the table."""
    found = {(pair.row, pair.dataset): pair for pair in pairs_against(scores, sheet.reference, line)}
    caption = (
        f"Row minus {sheet.reference}, {line}, on the same folds or splits: corrected resampled t-test (Nadeau & "
        f"Bengio 2003), p-values by Holm over all {len(found)} comparisons. Bold: p < 0.05."
    )
    text: CellText = lambda row, number, dataset: pair_text(found.get((row.name, dataset)))  # noqa: E731
    return _by_dataset(sheet, rows, scores, text, "pairs", f"Against {sheet.reference}", caption)


def ranking_grid(ranking: Ranking) -> Grid:
    """Average ranks, best first."""
    rows = [(name, f"{rank:.2f}") for name, rank in zip(ranking.names, ranking.ranks, strict=True)]
    return Grid("ranking", "Average ranks", f"1 is best. {ranking.sentence}.", ("row", "average rank"), rows)


def times_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> Grid | None:
    """Run times of one seed in seconds."""

    def text(row: TableRow, number: int, dataset: str) -> str:
        own = [r for r in scores.rows if (r[scores.axes[0]], r["dataset"]) == (row.name, dataset)]
        times = [[r[key] for r in own if r.get(key) is not None] for key in ("train_seconds", "judge_seconds")]
        parts = [f"{statistics.fmean(some):.1f}" if some else MISSING for some in times]
        return " + ".join(parts) if own else MISSING

    caption = (
        "Seconds of one cell on one core or device beside others: training + judging, mean over cells. Energy was not "
        f"measured. Computed on: {', '.join(scores.devices) or 'nothing yet'}."
    )
    return _by_dataset(sheet, rows, scores, text, "times", "Run times", caption)


def mean_table(scores: Scores, rows: Sequence[TableRow], line: str) -> np.ndarray:
    """Means ``[datasets, rows]`` over seeds, NaN for gaps."""
    columns = [mean_and_deviation(scores.of(row.name, line))[0] for row in rows]
    return np.stack(columns, 1) if columns else np.zeros((len(scores.datasets), 0))


def _by_dataset(
    sheet: Sheet, rows: Sequence[TableRow], scores: Scores, text: CellText, key: str, title: str, caption: str
) -> Grid | None:
    """One line per row, without empty rows; None if no row is left."""
    lines, groups = [], []
    for row in rows:
        cells = [text(row, number, dataset) for number, dataset in enumerate(scores.datasets)]
        if any(cell != MISSING for cell in cells):
            lines.append([row.name, *cells])
            groups.append(row.group)
    return Grid(key, title, caption, ("row", *_labels(sheet, scores)), lines, groups) if lines else None


def _searches(sheet: Sheet, scores: Scores) -> str:
    """The numbers of candidates of the tuned row."""
    facts = searched(scores.rows)
    tried = ", ".join(f"{sheet.label(name)} {facts[name]}" for name in scores.datasets if name in facts)
    return f" Candidates of the tuned row's searches: {tried}." if tried else ""


def _labels(sheet: Sheet, scores: Scores) -> list[str]:
    return [sheet.label(dataset) for dataset in scores.datasets]
