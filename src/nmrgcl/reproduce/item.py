"""The kinds of items: figures made of cells, measured items and (in ``tables/table.py``) tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from nmrgcl.data.catalog import find, require_name
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
"""By Sec. 6.1 of the paper, hyper-parameters are those of GraphCL."""

Levels = dict[tuple[Any, ...], Settings]
"""The settings for each combination of values on the axes of a figure."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """A table or figure of the paper; the common part of all kinds.

    Attributes:
        name: the name used by the command.
        title: the title.
        note: what a reader must know about how it is computed here.
        cost: the cost of computing all of it.
        claims: what the paper says about it.
        full: the full extent.
        small: the extent with ``--quick``.
        judge: a function from scores to one verdict per claim.
        protocols: the possible evaluation protocols of its cells; the first is the default.
        axes: the names of what varies besides dataset and seed.
        measures: what a cell recorded about its training that rows include.
        by_fold: the scores of each fold that rows include: "folds", those on the test folds, and "inner".
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
    measures: tuple[str, ...] = ()
    by_fold: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that computes all of it."""
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
        """A plan of the default extent with the requested changes; ``of_tables`` are fields of ``Plan`` for tables."""
        extent, protocol = self.small if quick else self.full, protocol or self.protocols[0]
        if protocol not in self.protocols:
            raise SettingError(f"--protocol {protocol}: {self.name} is evaluated by {' or '.join(self.protocols)}")
        given: dict[str, Any] = {key: value for key, value in of_tables.items() if value}
        self._check_options(given)
        if "rows" in given:
            given["rows"] = tuple(map(method_reference, given["rows"]))
        for name in only:
            require_name(name)
        datasets = tuple(dict.fromkeys(canonical(name) for name in only or extent.datasets))
        self._check_levels(datasets)
        given = {"most_epochs": extent.most_epochs} | given
        settings = (*extent.assignments, *assignments)
        return Plan(self.name, datasets, seeds or extent.seeds, protocol, quick, settings, **given)

    def cells(self, plan: Plan) -> list[Placed]:
        """All cells of ``plan``, ordered by dataset; a measured item has none."""
        return []

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """The scores to judge and draw; rows that are not part of ``plan`` are ignored."""
        return Scores(plan.datasets, self.axes, (), plan.seeds, tuple(rows), plan.protocol, plan.quick)

    def pictures(self, scores: Scores) -> list[Picture]:
        """The pictures of the item."""
        return []

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """The tables of the item."""
        return []

    def kind(self, placed: Placed) -> tuple[Any, ...]:
        """Cells of a dataset with the same kind are taken to cost the same."""
        return ()

    def _check_options(self, given: Mapping[str, Any]) -> None:
        for key in given:
            option = "--row" if key == "rows" else f"--{key.replace('_', '-')}"
            raise SettingError(f"{option}: is for tables; {self.name} is not a table")

    def _check_levels(self, datasets: Sequence[str]) -> None:
        """Check known datasets before anything is computed; a user's own file is checked when it is loaded."""
        level = "node" if "linear" in self.protocols else "graph"
        for entry in filter(None, map(find, datasets)):
            if entry.level != level:
                kind = {"graph": "of graphs", "node": "one graph with labelled nodes"}[entry.level]
                raise SettingError(f"--only {entry.name}: is {kind}; {self.name} embeds {level}s")


@dataclass(frozen=True, eq=False, kw_only=True)
class FigureItem(Item):
    """A figure made of cells: ``levels`` derives the settings of each level from the base settings."""

    levels: Callable[[Settings], Levels]
    draw: Callable[[Scores], list[Picture]]
    tabulate: Callable[[Scores], list[Grid]] | None = None

    def cells(self, plan: Plan) -> list[Placed]:
        """One cell per dataset, level and seed."""
        options: dict[str, Any] = {"protocol": plan.protocol}
        return [
            Placed(at, Cell(dataset, replace(settings, seed=settings.seed + seed), **options))
            for dataset in plan.datasets
            for at, settings in self._levels(plan).items()
            for seed in range(plan.seeds)
        ]

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """The scores of every level."""
        return replace(super().scores(plan, rows), wanted=tuple(self._levels(plan)))

    def pictures(self, scores: Scores) -> list[Picture]:
        """The pictures that the module of the figure draws."""
        return self.draw(scores)

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """The tables of the module of the figure, if any."""
        return self.tabulate(scores) if self.tabulate else []

    def _levels(self, plan: Plan) -> Levels:
        return self.levels(resolve(PRESET, assignments=plan.assignments))


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredItem(Item):
    """An item without cells: ``measure`` returns its rows, as an iterator if each row takes long."""

    measure: Callable[[Plan, torch.device], Iterable[Row]]
    draw: Callable[[Scores], list[Picture]] | None = None

    def pictures(self, scores: Scores) -> list[Picture]:
        """The pictures that the module of the item draws, if any."""
        return self.draw(scores) if self.draw else []
