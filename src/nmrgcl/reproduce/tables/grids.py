"""What a table's report shows: figures, their distance to the printed ones, optimism, tests, ranks and times."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nmrgcl.report.grid import MISSING, Grid, Line, Text
from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare
from nmrgcl.reproduce.tables.entries import PRINTED, Entry, optimism
from nmrgcl.reproduce.tables.nested import searched
from nmrgcl.reproduce.tables.pairs import pairs_against
from nmrgcl.reproduce.tables.ranking import Ranking
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow
from nmrgcl.reproduce.tables.words import device_marks, figure_text, interval_text, line_text, marks_text, pair_text


def results_grid(sheet: Sheet, found: Sequence[Entry], scores: Scores) -> Grid:
    """Printed and computed figures, line by line."""
    lines: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in found:
        lines.setdefault((entry.row, entry.line), {})[entry.dataset] = entry
    made, last, marks = [], "", device_marks(found)
    for (row, _), by_dataset in lines.items():
        first = next(iter(by_dataset.values()))
        cells = [figure_text(by_dataset.get(dataset), scores.seeds, marks) for dataset in scores.datasets]
        made.append(Line((Text(row if row != last else ""), Text(line_text(first)), *cells), first.group))
        last = row
    caption = (
        f"Figures in %, mean ± sample standard deviation over n = {scores.seeds} seeds, or as many as it says; "
        f"printed: {sheet.source}. {sheet.bold} {MISSING}: there is no figure. "
        f"{marks_text(marks)}{_searches(sheet, scores)}"
    )
    return Grid("results", "Results", caption, ("row", "figures", *_labels(sheet, scores)), tuple(made), names=2)


def short_grid(
    sheet: Sheet, rows: Sequence[TableRow], found: Sequence[Entry], scores: Scores, line: str, *, own: bool
) -> Grid | None:
    """A line a computed row: ours, and others' mean in brackets; without datasets that have nothing.

    Others' is the printed one or, on a line that is not the table's ``own``, what other papers print for that split.
    """
    places = {(entry.row, entry.dataset, entry.line): entry for entry in found}
    marks = device_marks([entry for entry in found if entry.line == line])

    def text(row: TableRow, number: int, dataset: str) -> Text:
        ours = figure_text(places.get((row.name, dataset, line)), scores.seeds, marks)
        theirs = places.get((row.name, dataset, PRINTED if own else f"published, {line}"))
        if ours.text == MISSING or theirs is None or theirs.figure.mean is None:
            return ours
        return Text(f"{ours.text} ({theirs.figure.mean:.2f})", ours.bold)

    source = sheet.source if own else "what other papers print for that split"
    caption = (
        f"{line}, mean ± sample standard deviation over n = {scores.seeds} seeds; in brackets: {source}. {sheet.bold} "
        f"{marks_text(marks)}{_searches(sheet, scores)}"
    )
    return _without_gaps(_by_dataset(sheet, rows, scores, text, "short", "Results", caption))


def distance_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores, line: str) -> Grid | None:
    """Ours minus the printed mean; its interval is that of our seeds alone."""

    def text(row: TableRow, number: int, dataset: str) -> Text:
        printed = row.printed.get(dataset)
        if printed is None or printed.mean is None:
            return Text(MISSING)
        return interval_text(compare(scores.of(row.name, line)[[number]] - printed.mean))

    caption = (
        f"Ours ({line}) minus the printed mean, with the 95 % interval over our seeds; that of the printed figures, "
        "whose trials are not published, is not in it. Bold: zero is outside."
    )
    return _by_dataset(sheet, rows, scores, text, "distance", "Ours minus printed", caption)


def optimism_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> Grid | None:
    """Selection by the evaluated folds minus honest selection, by dataset and over all."""

    def text(row: TableRow, number: int, dataset: str) -> Text:
        return interval_text(optimism(scores, row.name, dataset))

    caption = (
        "Points of accuracy that come from choosing epoch and C by the evaluated folds: the same trainings, selection "
        "paper minus honest, paired by seed, with 95 % intervals. Bold: zero is outside."
    )
    title = "Optimism of choosing by the evaluated folds"
    grid = _by_dataset(sheet, rows, scores, text, "optimism", title, caption)
    if grid is None:
        return None
    overall = {line.cells[0].text: optimism(scores, line.cells[0].text) for line in grid.lines}
    lines = [Line((*line.cells, interval_text(overall[line.cells[0].text])), line.group) for line in grid.lines]
    return Grid(grid.key, grid.title, grid.caption, (*grid.head, "all datasets"), tuple(lines))


def pairs_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores, line: str) -> Grid | None:
    """Every row against the table's reference."""
    found = {(pair.row, pair.dataset): pair for pair in pairs_against(scores, sheet.reference, line)}

    def text(row: TableRow, number: int, dataset: str) -> Text:
        return pair_text(found.get((row.name, dataset)))

    caption = (
        f"Row minus {sheet.reference}, {line}, on the same folds or splits: corrected resampled t-test (Nadeau & "
        f"Bengio 2003), p-values by Holm over all {len(found)} comparisons. Bold: p < 0.05."
    )
    return _by_dataset(sheet, rows, scores, text, "pairs", f"Against {sheet.reference}", caption)


def ranking_grid(ranking: Ranking) -> Grid:
    """Average ranks from the best on."""
    pairs = zip(ranking.names, ranking.ranks, strict=True)
    lines = tuple(Line((Text(name), Text(f"{rank:.2f}"))) for name, rank in pairs)
    return Grid("ranking", "Average ranks", f"1 is best. {ranking.sentence}.", ("row", "average rank"), lines)


def times_grid(sheet: Sheet, rows: Sequence[TableRow], scores: Scores) -> Grid | None:
    """Seconds of a seed."""

    def text(row: TableRow, number: int, dataset: str) -> Text:
        own = [r for r in scores.rows if (r[scores.axes[0]], r["dataset"]) == (row.name, dataset)]
        train = [r["train_seconds"] for r in own if r.get("train_seconds") is not None]
        judge = [r["judge_seconds"] for r in own if r.get("judge_seconds") is not None]
        parts = [f"{statistics.fmean(times):.1f}" if times else MISSING for times in (train, judge)]
        return Text(" + ".join(parts) if own else MISSING)

    caption = (
        "Seconds of one cell on one core or device beside others: training + judging, mean over cells. Energy was not "
        f"measured. Computed on: {', '.join(scores.devices) or 'nothing yet'}."
    )
    return _by_dataset(sheet, rows, scores, text, "times", "Run times", caption)


def mean_table(scores: Scores, rows: Sequence[TableRow], line: str) -> np.ndarray:
    """``[datasets, rows]`` means over seeds, NaN for gaps."""
    columns = [mean_and_deviation(scores.of(row.name, line))[0] for row in rows]
    return np.stack(columns, 1) if columns else np.zeros((len(scores.datasets), 0))


def _by_dataset(
    sheet: Sheet,
    rows: Sequence[TableRow],
    scores: Scores,
    text: Callable[[TableRow, int, str], Text],
    key: str,
    title: str,
    caption: str,
) -> Grid | None:
    """A line a row, without rows that have nothing; None where none is left."""
    lines = []
    for row in rows:
        cells = tuple(text(row, number, dataset) for number, dataset in enumerate(scores.datasets))
        if any(cell.text != MISSING for cell in cells):
            lines.append(Line((Text(row.name), *cells), row.group))
    return Grid(key, title, caption, ("row", *_labels(sheet, scores)), tuple(lines)) if lines else None


def _without_gaps(grid: Grid | None) -> Grid | None:
    """Without columns in which every line is missing."""
    if grid is None:
        return None
    kept = [n for n in range(len(grid.head)) if any(line.cells[n].text != MISSING for line in grid.lines)]
    lines = tuple(Line(tuple(line.cells[n] for n in kept), line.group) for line in grid.lines)
    return replace(grid, head=tuple(grid.head[n] for n in kept), lines=lines)


def _searches(sheet: Sheet, scores: Scores) -> str:
    """What the tuned row was chosen from."""
    facts = searched(scores.rows)
    tried = ", ".join(f"{sheet.label(name)} {facts[name]}" for name in scores.datasets if name in facts)
    return f" Candidates of the tuned row's searches: {tried}." if tried else ""


def _labels(sheet: Sheet, scores: Scores) -> list[str]:
    return [sheet.label(dataset) for dataset in scores.datasets]
