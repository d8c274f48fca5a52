"""The cells of a sweep: every method on every dataset, evaluated in every requested way."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nmrgcl.data.loading import known, load
from nmrgcl.errors import SettingError, UserError, nearest
from nmrgcl.methods import find_method, require_possible
from nmrgcl.run.cell import BY_FOLDS, SELECTIONS, Cell, canonical, cross
from nmrgcl.run.recipe import advice, free_assignments, recipe
from nmrgcl.settings import Settings, full_key


def sweep_cells(
    data: Sequence[str],
    methods: Sequence[str] = (),
    *,
    preset: str | None = None,
    assignments: Mapping[str, Any],
    seeds: int,
    protocols: Sequence[str] = (),
    splits: Sequence[str] = (),
    selection: str = "honest",
) -> list[Cell]:
    """All cells, each of them once; ``selection`` "both" means "honest", and "paper" where the protocol allows it.

    Unknown names and impossible combinations raise SettingError or DataError before anything is computed.
    """
    if selection not in (*SELECTIONS, "both"):
        raise SettingError(f"--selection {selection}: {nearest(selection, (*SELECTIONS, 'both'))}")
    for name in data:
        if known(name) is None and not Path(name).expanduser().exists():
            load(name)  # This raises the error that explains what is wrong with the name.
    there = _level(data)
    level = "graph" if preset else there or "graph"
    cells: dict[str, Cell] = {}
    for name in dict.fromkeys(canonical(name) for name in data):
        rows = method_settings(methods, preset=preset, assignments=assignments, level=level, dataset=name)
        if there is not None:
            _require_suitable(name, there, rows)
        for protocol in protocols or [""]:
            both = ["honest", "paper"] if protocol in ("", *BY_FOLDS) else ["honest"]
            for split in splits or [""]:
                for chosen in both if selection == "both" else [selection]:
                    found = cross([name], rows, seeds, protocol=protocol, split=split, selection=chosen)
                    cells |= {cell.key: cell for cell in found}
    return list(cells.values())


def method_settings(
    methods: Sequence[str], *, preset: str | None, assignments: Mapping[str, Any], level: str, dataset: str
) -> list[Settings]:
    """The settings of each method for a dataset; values that a method fixes override assignments."""
    given: dict[str, Any] = {"preset": preset, "assignments": assignments, "level": level, "dataset": dataset}
    names: Sequence[str | None] = methods or [None]
    rows = [recipe(name, **given, method_wins=True) for name in names]
    for text, value in assignments.items():
        if not any(free_assignments(row.method, {text: value}) for row in rows):
            key = full_key(text, rows[0].method, "--set")  # This refuses an option that none of the methods has.
            if all(find_method(row.method).FIXED.get(key, value) != value for row in rows):
                raise SettingError(f"--set {text}: every method here has its own fixed {key}; leave it out")
    labels: dict[str, str] = {}
    for settings in rows:
        if labels.setdefault(settings.label, settings.method) != settings.method:
            raise SettingError(f"two different methods are called {settings.label}; rename the file of one of them")
        require_possible(settings)  # Report impossible settings before anything is written.
    return rows


def _require_suitable(name: str, there: str, rows: Sequence[Settings]) -> None:
    """Refuse a dataset ``name`` that no worker could use: of another level than a method, or without labels."""
    for settings in rows:
        if settings.level != there:
            what = {"graph": "many graphs", "node": "one graph whose nodes are labelled"}[there]
            raise SettingError(
                f"{name}: is {what}, but method {settings.label} would embed {settings.level}s here; "
                f"{advice(settings, there)}"
            )
    if known(name) is None:
        dataset = None
        with suppress(UserError):  # A dataset that cannot be read is reported by its worker later.
            dataset = load(name)
        if dataset is not None and dataset.y is None and dataset.molecules is None:
            raise SettingError(f"{name}: has no labels, which a sweep judges by; embed it with nmrgcl pretrain")


def _level(names: Sequence[str]) -> str | None:
    """The level of the datasets, "graph" or "node"; None if none can be read, which workers report later."""
    levels = {}
    for name in names:
        entry = known(name)
        with suppress(UserError):
            levels[name] = entry.level if entry else load(name).level
    if len(set(levels.values())) > 1:
        kinds = ", ".join(f"{name} of {level}s" for name, level in levels.items())
        raise SettingError(f"datasets of graphs and of nodes need separate sweeps ({kinds})")
    return next(iter(levels.values()), None)
