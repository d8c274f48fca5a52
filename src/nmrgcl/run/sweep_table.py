"""Summarise results as a table of methods and datasets."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmrgcl.encode.named import encoder_label
from nmrgcl.evaluate.spread import with_spread
from nmrgcl.run.cell import Cell
from nmrgcl.run.results import Result


@dataclass(frozen=True)
class SeedMean:
    """Mean and sample standard deviation (None for one seed) in percent over ``n`` seeds, under one evaluation."""

    method: str
    dataset: str
    mean: float
    std: float | None
    n: int
    judge: str = ""


def tabulate(results: Iterable[Result]) -> list[SeedMean]:
    """One entry per method, dataset and evaluation, in order of first appearance."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for result in results:
        cell = result.cell
        groups.setdefault((row_of(cell), cell.dataset, cell.judge), []).append(result.mean)
    return [
        SeedMean(
            row, name, statistics.fmean(means), statistics.stdev(means) if len(means) > 1 else None, len(means), judge
        )
        for (row, name, judge), means in groups.items()
    ]


def row_of(cell: Cell) -> str:
    """The name of the cell's row: its method, or the encoder if a fresh one is trained with labels."""
    supervised = cell.protocol == "finetune" and cell.method == "untrained"
    return f"{encoder_label(cell.settings.encoder.name)} (supervised)" if supervised else cell.method


def as_text(entries: Iterable[SeedMean]) -> str:
    """A table with a row per method and a column per dataset, for entries under the same evaluation."""
    found = {(entry.method, entry.dataset): entry for entry in entries}
    methods, datasets = (list(dict.fromkeys(key[side] for key in found)) for side in (0, 1))
    rows = [["", *datasets]]
    for method in methods:
        cells = [found.get((method, dataset)) for dataset in datasets]
        rows.append([method, *(f"{with_spread(c.mean, c.std)} ({c.n})" if c else "–" for c in cells)])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows)
