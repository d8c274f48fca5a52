"""Paired comparisons of each method in a sweep with the first one, on the same folds or splits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from nmrgcl.data.loading import load
from nmrgcl.data.molecules.splits import split_rows
from nmrgcl.data.splits import split_nodes
from nmrgcl.evaluate.paired import FEWEST, Pair, correct_pairs, pair_rows
from nmrgcl.evaluate.spread import signed, with_p
from nmrgcl.run.cell import CUTS, Cell
from nmrgcl.run.cell_data import truth_of
from nmrgcl.run.results import Result
from nmrgcl.run.sweep_table import aligned, row_of


@dataclass(frozen=True)
class MethodComparison:
    """Comparisons with a reference method under one evaluation.

    Attributes:
        judge: the evaluation, in words.
        reference: the first method.
        pairs: the comparison for each other method and each dataset.
        untested: pairs of method and dataset with too few scores for a test.
        unit: of the differences; errors of numeric labels have that of the labels.
    """

    judge: str
    reference: str
    pairs: tuple[Pair, ...]
    untested: tuple[tuple[str, str], ...]
    unit: str = "points"

    def to_rows(self) -> list[dict[str, Any]]:
        """One row of plain values per method and dataset, without numbers where there is no test."""
        place = {"judge": self.judge, "reference": self.reference}
        rows: list[dict[str, Any]] = []
        for pair in self.pairs:
            numbers = {**asdict(pair.difference), "p_holm": pair.p}
            counts = {"seeds": pair.seeds, "compared": pair.compared, "mixed": pair.mixed}
            rows.append({**place, "method": pair.row, "dataset": pair.dataset, **numbers, **counts})
        return rows + [{**place, "method": row, "dataset": dataset, "mean": None} for row, dataset in self.untested]

    def __str__(self) -> str:
        """One line per pair, the name of the test, and the pairs without a test."""
        lines = [f"paired difference to {self.reference} in {self.unit}; {self.judge}"]
        if self.pairs:
            lines += [aligned([("", "", "  mean", " 95 % interval", ""), *self._lines()]), self._test()]
        if self.untested:
            where = ", ".join(f"{row} on {dataset}" for row, dataset in self.untested)
            lines.append(
                f"no test for {where}: it needs {FEWEST} scores (seeds × folds) of both methods; "
                "use more --seeds, or compute the missing cells"
            )
        return "\n".join(lines)

    def _lines(self) -> list[tuple[str, ...]]:
        """Table rows, with the name of a method in its first row only."""
        lines: list[tuple[str, ...]] = []
        named = ""
        for pair in self.pairs:
            found = pair.difference
            mean, low, high = (f"{signed(number):>6}" for number in (found.mean, found.low, found.high))
            note = with_p(pair.p) + (", devices differ" if pair.mixed else "")
            lines.append((pair.row if pair.row != named else "", pair.dataset, mean, f"{low} … {high}", note))
            named = pair.row
        return lines

    def _test(self) -> str:
        count = self.pairs[0].compared
        holm = f"; p by Holm's method for all {count} comparisons" if count > 1 else ""
        return f"corrected resampled t-test (Nadeau & Bengio 2003){holm}"


def compare_methods(cells: Sequence[Cell], results: Mapping[str, Result]) -> list[MethodComparison]:
    """Compare every method with the first one on every dataset, for each evaluation; Holm's correction covers all.

    ``results`` holds the results of finished cells by key. With one method or one seed there is nothing to compare.
    """
    if len({cell.seed for cell in cells}) < 2:
        return []
    judges: dict[str, list[Cell]] = {}
    for cell in cells:
        judges.setdefault(cell.judge, []).append(cell)
    found = [_against_first(alike, results) for alike in judges.values() if len({row_of(cell) for cell in alike}) > 1]
    # Corrected all together, then handed back to the comparisons they come from.
    pairs = iter(correct_pairs([pair for one in found for pair in one.pairs]))
    return [replace(one, pairs=tuple(islice(pairs, len(one.pairs)))) for one in found]


def _against_first(cells: Sequence[Cell], results: Mapping[str, Result]) -> MethodComparison:
    """The comparisons among cells with the same evaluation."""
    finished = [cell for cell in cells if cell.key in results]
    done = {(row_of(cell), cell.dataset, cell.seed): results[cell.key] for cell in finished}
    folds = {place: result.scores["folds"] for place, result in done.items()}
    ratios = {name: _test_to_train(cell) for name, cell in {cell.dataset: cell for cell in finished}.items()}
    reference, *others = dict.fromkeys(row_of(cell) for cell in cells)
    pairs, untested = [], []
    for row in others:
        for dataset in dict.fromkeys(cell.dataset for cell in cells):
            pair = pair_rows(folds, row, reference, dataset, test_to_train=ratios.get(dataset))
            if pair is None:
                untested.append((row, dataset))
            else:
                pairs.append(replace(pair, mixed=_on_several_devices(done, row, reference, dataset)))
    units = {"RMSE" if result.measure == "RMSE" else "points" for result in done.values()}
    return MethodComparison(
        cells[0].judge, reference, tuple(pairs), tuple(untested), " or ".join(sorted(units)) or "points"
    )


def _on_several_devices(done: Mapping[tuple[str, str, int], Result], row: str, reference: str, dataset: str) -> bool:
    """Whether some seed of the pair was computed on two different kinds of device."""
    device = {place: result.hardware.get("device") for place, result in done.items() if place[1] == dataset}
    own = {seed: name for (method, _, seed), name in device.items() if method == row}
    return any(device.get((reference, dataset, seed), name) != name for seed, name in own.items())


def _test_to_train(cell: Cell) -> float | None:
    """The ratio of test to training data; None if the number of folds determines it."""
    if cell.split == CUTS["graph"][0]:
        # Fine-tuning holds out one more fold for validation.
        return 1 / max(cell.settings.svm.folds - 2, 1) if cell.protocol == "finetune" else None
    truth = truth_of(cell, load(cell.dataset))
    if truth.molecules is not None:
        parts = split_rows(truth.molecules, cell.split, seed=cell.seed)
    else:
        parts = split_nodes(cell.split, truth.y, seed=cell.seed, public=truth.public)
    return len(parts.test) / len(parts.train)
