"""What all items share: a plan of what is wanted, the cells it asks for, and what is made of their scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from nmrgcl.errors import SettingError
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.verdict import Verdict
from nmrgcl.run.cell import PROTOCOLS, Run
from nmrgcl.settings import Settings, resolve

PRESET = "graphcl"
"""Sec. 6.1 of the paper: hyper-parameters remain those of GraphCL."""


@dataclass(frozen=True)
class Extent:
    """How much of an item is computed: ``seeds`` on each of ``datasets``."""

    datasets: tuple[str, ...]
    seeds: int


@dataclass(frozen=True)
class Plan:
    """What is wanted of an item; a file of its results holds it, so that what is missing stays known."""

    item: str
    datasets: tuple[str, ...]
    seeds: int
    protocol: str
    quick: bool = False
    assignments: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the item's files; a quick version never passes for the item."""
        return f"{self.item}-quick" if self.quick else self.item

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"datasets": list(self.datasets), "assignments": list(self.assignments)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Plan":
        """The inverse; TypeError or ValueError where it is not what ``to_dict`` made."""
        plan = Plan(**values)
        texts = [*plan.datasets, *plan.assignments, plan.item, plan.protocol]
        if not all(isinstance(text, str) for text in texts) or not plan.datasets:
            raise ValueError("names are texts")
        if type(plan.seeds) is not int or plan.seeds < 1 or type(plan.quick) is not bool:
            raise ValueError("seeds is a count, quick is true or false")
        return Plan(**dict(values) | {"datasets": tuple(plan.datasets), "assignments": tuple(plan.assignments)})


@dataclass(frozen=True)
class Cell:
    """A run, and what it varies: one value for each of the item's axes."""

    at: tuple[Any, ...]
    run: Run


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
        protocol: how its cells are judged where nothing else is asked for.
        axes: names of what varies beside dataset and seed.
        levels: settings for each combination of values on the axes.
        judge: scores → a verdict for each claim.
        draw: scores → pictures.
        measure: for an item that is no set of cells: its rows, measured now.
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
    measure: Callable[[Plan, torch.device], list[Row]] | None = None
    protocol: str = "svm"

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
    ) -> Plan:
        """The item's own extent, with what is asked for instead."""
        extent, protocol = self.small if quick else self.full, protocol or self.protocol
        if protocol not in PROTOCOLS["graph"] or protocol == "finetune":
            known = [name for name in PROTOCOLS["graph"] if name != "finetune"]
            raise SettingError(f"--protocol {protocol}: embeddings of graphs are judged by {' or '.join(known)}")
        datasets = tuple(dict.fromkeys(Run(name, Settings()).dataset for name in only or extent.datasets))
        return Plan(self.name, datasets, seeds or extent.seeds, protocol, quick, tuple(assignments))

    def cells(self, plan: Plan) -> list[Cell]:
        """Every cell of ``plan``, dataset by dataset; none where the item is measured."""
        levels = self._levels(plan).items()
        options: dict[str, Any] = {"protocol": plan.protocol}
        return [
            Cell(at, Run(dataset, replace(settings, seed=settings.seed + seed), **options))
            for dataset in plan.datasets
            for at, settings in levels
            for seed in range(plan.seeds)
        ]

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """Rows as what is judged and drawn; those that ``plan`` does not ask for are left out."""
        return Scores(
            plan.datasets, self.axes, tuple(self._levels(plan)), plan.seeds, tuple(rows), plan.protocol, plan.quick
        )

    def _levels(self, plan: Plan) -> dict[tuple[Any, ...], Settings]:
        return self.levels(resolve(PRESET, assignments=plan.assignments)) if self.levels else {}
