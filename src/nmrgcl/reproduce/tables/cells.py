"""The cells that a table asks for: every row whose method exists here, on every dataset, seed and way to judge."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nmrgcl.errors import SettingError, nearest
from nmrgcl.methods import Level, MoleculePretraining, find_method, method_names
from nmrgcl.own_code import is_reference, label
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow
from nmrgcl.reproduce.tables.tuned import tuned_values
from nmrgcl.run.cell import BY_FOLDS, Cell, Start
from nmrgcl.run.recipe import free_assignments, recipe
from nmrgcl.settings import Settings

SELECTIONS = ("honest", "paper")
COMMON = "strong"
"""The recipe of methods that bring none of their own."""
MOLECULES, FINETUNED = "molecules", "supervised_molecules"
"""The recipe of methods that bring none for molecules, and the one by which a pre-trained encoder is fine-tuned."""
QUICK_GRAPHS = 2000
"""Molecules to pre-train on in a quick version."""


def table_rows(sheet: Sheet, level: Level) -> list[TableRow]:
    """The paper's rows, then one for every other method that embeds any graphs, or nodes."""
    named = {row.method for row in sheet.rows}
    others = [name for name in method_names() if name not in named and _embeds(name, level)]
    return [*sheet.rows, *(TableRow(name, "others", name) for name in others)]


def _embeds(name: str, level: Level) -> bool:
    """True if the method embeds such things in general, not molecules alone."""
    kind = find_method(name)
    return level in kind.PRESETS and not issubclass(kind, MoleculePretraining)


def chosen_rows(sheet: Sheet, level: Level, names: Sequence[str]) -> list[TableRow]:
    """The rows named, in any case of letters; all rows if none is named. A reference is a method of the user's own."""
    own = [TableRow(label(name), "others", name) for name in names if is_reference(name)]
    rows = [*table_rows(sheet, level), *own]
    names = [label(name) for name in names]
    known = {row.name.lower(): row for row in rows}
    for name in names:
        if name.lower() not in known:
            raise SettingError(f"--row {name}: no such row; {nearest(name, [row.name for row in rows])}")
    wanted = {name.lower() for name in names}
    return [row for row in rows if not wanted or row.name.lower() in wanted]


def computable(row: TableRow, level: Level) -> bool:
    """True if its method exists here and embeds such things."""
    return (row.method in method_names() or is_reference(row.method)) and level in find_method(row.method).PRESETS


def row_settings(row: TableRow, dataset: str, plan: Plan, level: Level, *, by_folds: bool = False) -> Settings | None:
    """Settings of the cells of ``row`` on ``dataset``; None where it is a tuned row and no search found any for it."""
    tuned = tuned_values(dataset) if row.tuned else {}
    if tuned is None:
        return None
    own = find_method(row.method).PRESETS[level]
    preset = row.preset or (plan.preset if own == COMMON and plan.preset else own)
    settings = Settings().updated(tuned) if row.tuned else recipe(row.method, preset=preset, dataset=dataset)
    if by_folds and settings.svm.c == "default":  # both selections choose C, and among the same values
        settings = settings.updated({"svm.c": "grid"})
    settings = settings.updated(row.settings)
    settings = settings.updated(free_assignments(row.method, plan.assignments), source="--set")
    return _capped(settings, plan.most_epochs)


def graph_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """Cells of both selections; rows trained with labels have honest ones only: a validation part chooses the epoch."""
    cells = []
    for dataset in _there(sheet, plan):
        for row in chosen_rows(sheet, "graph", plan.rows):
            protocol = row.protocol or plan.protocol
            both = [s for s in SELECTIONS if plan.selection in ("", s) and (s == "honest" or protocol in BY_FOLDS)]
            for settings in _seeded(row, dataset, plan, "graph", by_folds=protocol in BY_FOLDS):
                options: list[Any] = [{"protocol": protocol, "selection": selection} for selection in both]
                cells += [
                    Placed((row.name, _line(row, own["selection"])), Cell(dataset, settings, **own)) for own in options
                ]
    return cells


def _line(row: TableRow, selection: str) -> str:
    """Where a cell stands: settings that were chosen with the labels of all graphs are not judged honestly."""
    return "seen" if row.tuned and selection == "honest" else selection


def node_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """Cells of every split that the dataset has; cells that differ only in their split share one training."""
    cells = []
    for dataset in _there(sheet, plan):
        splits = [*sheet.splits, *(["public"] if dataset in sheet.public else [])]
        for row in chosen_rows(sheet, "node", plan.rows):
            own: dict[str, Any] = {"protocol": row.protocol or plan.protocol}
            for settings in _seeded(row, dataset, plan, "node"):
                cells += [Placed((row.name, split), Cell(dataset, settings, split=split, **own)) for split in splits]
    return cells


def molecule_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """The cells of the rows that name a protocol, all on the scaffold split.

    In a quick version, rows with pre-training are those that are asked for by name: their molecules, which nobody
    publishes as one file, may not be there.
    """
    cells = []
    for dataset in _there(sheet, plan):
        for row in (row for row in chosen_rows(sheet, "graph", plan.rows) if row.protocol):
            if row.pretrained_on and ((plan.quick and not plan.rows) or not computable(row, "graph")):
                continue
            own: dict[str, Any] = {"protocol": row.protocol, "split": "scaffold", "start": _start(row, plan)}
            judged = replace(row, method="untrained", preset=FINETUNED, settings={}) if row.pretrained_on else row
            seeded = _seeded(judged, dataset, plan, "graph")
            cells += [Placed((row.name, "scaffold"), Cell(dataset, settings, **own)) for settings in seeded]
    return cells


def _start(row: TableRow, plan: Plan) -> Start | None:
    """The pre-training of a row, one for all its datasets and seeds; None where it has none."""
    if not row.pretrained_on:
        return None
    preset = row.preset or find_method(row.method).MOLECULES or MOLECULES
    settings = recipe(row.method, preset=preset).updated(row.settings)
    if plan.quick:
        settings = settings.updated({"train.max_graphs": QUICK_GRAPHS})
    settings = settings.updated(free_assignments(row.method, plan.assignments), source="--set")
    return Start(row.pretrained_on, _capped(settings, plan.most_epochs))


def _seeded(row: TableRow, dataset: str, plan: Plan, level: Level, *, by_folds: bool = False) -> list[Settings]:
    """The settings of a row for each of its seeds; none where it cannot be computed."""
    settings = row_settings(row, dataset, plan, level, by_folds=by_folds) if computable(row, level) else None
    if settings is None:
        return []
    return [replace(settings, seed=settings.seed + seed) for seed in range(min(row.seeds or plan.seeds, plan.seeds))]


def _there(sheet: Sheet, plan: Plan) -> list[str]:
    """Datasets to compute on; one that is not available offline is tried only where it was asked for by name."""
    whole = set(plan.datasets) >= set(sheet.columns)
    return [dataset for dataset in plan.datasets if not (whole and dataset in sheet.absent)]


def _capped(settings: Settings, most: int) -> Settings:
    """``settings`` with at most ``most`` epochs of training and of fine-tuning; unchanged if ``most`` is 0."""
    if not most:
        return settings
    epochs, tune = min(settings.train.epochs, most), min(settings.finetune.epochs, most)
    return settings.updated({"train.epochs": epochs, "train.steps": 0, "finetune.epochs": tune})
