"""What all items share: the cells that a plan asks for, and what is made of their scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.catalog import find
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_files import method_reference
from nmrgcl.report.grid import Grid
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.plan import Extent, Placed, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.verdict import Verdict
from nmrgcl.run.cell import Cell, canonical
from nmrgcl.settings import Settings, preset_names, resolve

PRESET = "graphcl"
"""Sec. 6.1 of the paper: hyper-parameters remain those of GraphCL."""


@dataclass(frozen=True)
class Item:
    """One table or figure of the paper.

    Attributes:
        name: as the command knows it.
        title: what it shows.
        note: what a reader must know of how it is computed here.
        cost: what the whole of it takes.
        claims: what the paper says about it.
        full: all of it.
        small: what ``--quick`` computes.
        protocols: how its cells may be judged; the first is meant where nothing else is asked for.
        axes: names of what varies beside dataset and seed.
        levels: settings for each combination of values on the axes.
        judge: scores → a verdict for each claim.
        draw: scores → pictures.
        measure: for an item that is no set of cells: its rows, measured now; where it takes long, one by one.
        table: for a table: the cells of a plan, each with its values on the axes.
        grids: for a table: plan and scores → what is written as HTML, Markdown and LaTeX.
        lists: for a table: plan and scores → its entries as rows of a CSV file.
        searches: for a table with a tuned row: plan and a folder of ``nmrgcl tune`` → the rows of its nested scores.
    """

    name: str
    title: str
    note: str
    cost: str
    claims: tuple[str, ...]
    full: Extent
    small: Extent
    judge: Callable[[Scores], list[Verdict]]
    draw: Callable[[Scores], list[Picture]]
    axes: tuple[str, ...] = ()
    levels: Callable[[Settings], dict[tuple[Any, ...], Settings]] | None = None
    measure: Callable[[Plan, torch.device], Iterable[Row]] | None = None
    table: Callable[[Plan], list[Placed]] | None = None
    grids: Callable[[Plan, Scores], list[Grid]] | None = None
    lists: Callable[[Plan, Scores], list[Row]] | None = None
    protocols: tuple[str, ...] = ("svm", "lssvm")
    searches: Callable[[Plan, Path], list[Row]] | None = None

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
        given: dict[str, Any] = {
            key: tuple(map(method_reference, value)) if key == "rows" else value
            for key, value in of_tables.items()
            if value
        }
        self._check(given)
        datasets = tuple(dict.fromkeys(canonical(name) for name in only or extent.datasets))
        self._check_levels(datasets)
        settings = (*extent.assignments, *assignments)
        given = {"most_epochs": extent.most_epochs} | given
        return Plan(self.name, datasets, seeds or extent.seeds, protocol, quick, settings, **given)

    def _check(self, given: Mapping[str, Any]) -> None:
        for key in given:
            if self.table is None:
                option = "--row" if key == "rows" else f"--{key.replace('_', '-')}"
                raise SettingError(f"{option}: is for tables; {self.name} is none")
        if given.get("selection", "honest") not in ("honest", "paper"):
            raise SettingError(f"--selection {given['selection']}: use honest or paper, or leave it out for both")
        if "preset" in given and given["preset"] not in preset_names():
            raise SettingError(f"unknown preset {given['preset']!r}; {nearest(given['preset'], preset_names())}")

    def _check_levels(self, datasets: Sequence[str]) -> None:
        """Before anything is computed; a file of one's own tells what it is when it is loaded."""
        level = "node" if "linear" in self.protocols else "graph"
        for entry in filter(None, map(find, datasets)):
            if entry.level != level:
                kind = {"graph": "of graphs", "node": "one graph with labelled nodes"}[entry.level]
                raise SettingError(f"--only {entry.name}: is {kind}; {self.name} embeds {level}s")

    def cells(self, plan: Plan) -> list[Placed]:
        """Every cell of ``plan``, dataset by dataset; none where the item is measured."""
        if self.table is not None:
            return self.table(plan)
        levels = self._levels(plan).items()
        options: dict[str, Any] = {"protocol": plan.protocol}
        return [
            Placed(at, Cell(dataset, replace(settings, seed=settings.seed + seed), **options))
            for dataset in plan.datasets
            for at, settings in levels
            for seed in range(plan.seeds)
        ]

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """Rows as what is judged and drawn; those that ``plan`` does not ask for are left out."""
        common: dict[str, Any] = {"seeds": plan.seeds, "rows": tuple(rows), "protocol": plan.protocol}
        common["quick"] = plan.quick
        if self.table is None:
            return Scores(plan.datasets, self.axes, tuple(self._levels(plan)), **common)
        cells = self.table(plan)
        others = [tuple(row[axis] for axis in self.axes) for row in rows if not row["key"]]
        wanted = tuple(dict.fromkeys([*others, *(placed.at for placed in cells)]))
        asked = np.zeros((len(plan.datasets), len(wanted), plan.seeds), bool)
        level = {at: number for number, at in enumerate(wanted)}
        for placed in cells:
            if placed.cell.seed < plan.seeds:
                asked[plan.datasets.index(placed.cell.dataset), level[placed.at], placed.cell.seed] = True
        return Scores(plan.datasets, self.axes, wanted, asked=asked, **common)

    def _levels(self, plan: Plan) -> dict[tuple[Any, ...], Settings]:
        return self.levels(resolve(PRESET, assignments=plan.assignments)) if self.levels else {}
