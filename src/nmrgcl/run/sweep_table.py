"""Results → the table they make."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmrgcl.encode.named import encoder_label
from nmrgcl.evaluate.spread import with_spread
from nmrgcl.run.cell import Cell
from nmrgcl.run.results import Result


@dataclass(frozen=True)
class SeedMean:
    """Mean and sample standard deviation (None for one seed), in percent, over ``n`` seeds of cells judged alike."""

    method: str
    dataset: str
    mean: float
    std: float | None
    n: int
    judge: str = ""


def tabulate(results: Iterable[Result]) -> list[SeedMean]:
    """One entry for each method, dataset and way to judge, in the order in which they come."""
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
    """The method; a fresh encoder that is trained with labels goes by its own name."""
    supervised = cell.protocol == "finetune" and cell.method == "untrained"
    return f"{encoder_label(cell.settings.encoder.name)} (supervised)" if supervised else cell.method


def as_text(entries: Iterable[SeedMean]) -> str:
    """Rows of methods, columns of datasets; of entries that are judged alike."""
    found = {(entry.method, entry.dataset): entry for entry in entries}
    methods, datasets = (list(dict.fromkeys(key[side] for key in found)) for side in (0, 1))
    rows = [["", *datasets]]
    for method in methods:
        cells = [found.get((method, dataset)) for dataset in datasets]
        rows.append([method, *(f"{with_spread(c.mean, c.std)} ({c.n})" if c else "–" for c in cells)])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as lines whose columns begin below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows)
