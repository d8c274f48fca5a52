"""The three kinds of items: figures of cells, measured ones and (``tables/table.py``) tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from nmrgcl.data.catalog import find
from nmrgcl.errors import SettingError
from nmrgcl.method_files import method_reference
from nmrgcl.report.grid import Grid
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.plan import Extent, Placed, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.verdict import Verdict
from nmrgcl.run.cell import Cell, canonical
from nmrgcl.settings import Settings, resolve

PRESET = "graphcl"
"""Sec. 6.1 of the paper: hyper-parameters remain those of GraphCL."""

Levels = dict[tuple[Any, ...], Settings]
"""Settings for each combination of values on the axes of a figure."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """A table or figure of the paper: what all three kinds have.

    Attributes:
        name: as the command knows it.
        title: what it shows.
        note: what a reader must know about how it is computed here.
        cost: what all of it takes.
        claims: what the paper says about it.
        full: all of it.
        small: what ``--quick`` computes.
        judge: scores → a verdict for each claim.
        protocols: how its cells may be judged; the first is the default.
        axes: names of what varies beside dataset and seed.
    """

    name: str
    title: str
    note: str
    cost: str
    claims: tuple[str, ...]
    full: Extent
    small: Extent
    judge: Callable[[Scores], list[Verdict]]
    protocols: tuple[str, ...] = ("svm", "lssvm")
    axes: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What computes all of it."""
        return f"nmrgcl reproduce {self.name}"

    def plan(
        self,
        *,
        quick: bool = False,
        only: Sequence[str] = (),
        seeds: int = 0,
        protocol: str = "",
        assignments: Sequence[str] = (),
        **of_tables: Any,
    ) -> Plan:
        """The item's own extent, with what is asked for instead; ``of_tables`` are fields of ``Plan``."""
        extent, protocol = self.small if quick else self.full, protocol or self.protocols[0]
        if protocol not in self.protocols:
            raise SettingError(f"--protocol {protocol}: {self.name} is judged by {' or '.join(self.protocols)}")
        given: dict[str, Any] = {key: value for key, value in of_tables.items() if value}
        self._check_options(given)
        if "rows" in given:
            given["rows"] = tuple(map(method_reference, given["rows"]))
        datasets = tuple(dict.fromkeys(canonical(name) for name in only or extent.datasets))
        self._check_levels(datasets)
        given = {"most_epochs": extent.most_epochs} | given
        settings = (*extent.assignments, *assignments)
        return Plan(self.name, datasets, seeds or extent.seeds, protocol, quick, settings, **given)

    def cells(self, plan: Plan) -> list[Placed]:
        """Every cell of ``plan``, dataset by dataset; none where the item is measured."""
        return []

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """Rows as what is judged and drawn; those that ``plan`` does not ask for are left out."""
        return Scores(plan.datasets, self.axes, (), plan.seeds, tuple(rows), plan.protocol, plan.quick)

    def pictures(self, scores: Scores) -> list[Picture]:
        """What is drawn of them."""
        return []

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """What is shown as tables."""
        return []

    def _check_options(self, given: Mapping[str, Any]) -> None:
        for key in given:
            option = "--row" if key == "rows" else f"--{key.replace('_', '-')}"
            raise SettingError(f"{option}: is for tables; {self.name} is none")

    def _check_levels(self, datasets: Sequence[str]) -> None:
        """Before anything is computed; a file of the user's own says what it is when it is loaded."""
        level = "node" if "linear" in self.protocols else "graph"
        for entry in filter(None, map(find, datasets)):
            if entry.level != level:
                kind = {"graph": "of graphs", "node": "one graph with labelled nodes"}[entry.level]
                raise SettingError(f"--only {entry.name}: is {kind}; {self.name} embeds {level}s")


@dataclass(frozen=True, eq=False, kw_only=True)
class FigureItem(Item):
    """A figure of cells: ``levels`` turns the base settings into one cell per level, dataset and seed."""

    levels: Callable[[Settings], Levels]
    draw: Callable[[Scores], list[Picture]]

    def cells(self, plan: Plan) -> list[Placed]:
        """Every level on every dataset, seed by seed."""
        options: dict[str, Any] = {"protocol": plan.protocol}
        return [
            Placed(at, Cell(dataset, replace(settings, seed=settings.seed + seed), **options))
            for dataset in plan.datasets
            for at, settings in self._levels(plan).items()
            for seed in range(plan.seeds)
        ]

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """Scores of every level."""
        return replace(super().scores(plan, rows), wanted=tuple(self._levels(plan)))

    def pictures(self, scores: Scores) -> list[Picture]:
        """As the figure's file draws them."""
        return self.draw(scores)

    def _levels(self, plan: Plan) -> Levels:
        return self.levels(resolve(PRESET, assignments=plan.assignments))


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredItem(Item):
    """An item without cells: ``measure`` returns its rows, as an iterator where each row takes long."""

    measure: Callable[[Plan, torch.device], Iterable[Row]]
    draw: Callable[[Scores], list[Picture]] | None = None

    def pictures(self, scores: Scores) -> list[Picture]:
        """As the item's file draws them."""
        return self.draw(scores) if self.draw else []
