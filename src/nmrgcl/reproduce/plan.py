"""The plan of an item: what to compute, as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nmrgcl.run.cell import Cell

_OF_TABLES = ("preset", "rows", "selection", "most_epochs")


@dataclass(frozen=True)
class Extent:
    """How much of an item to compute: ``seeds`` on each of ``datasets``, with ``assignments`` to all settings.

    Rows of tables are trained for at most ``most_epochs``; 0: as their presets say.
    """

    datasets: tuple[str, ...]
    seeds: int
    most_epochs: int = 0
    assignments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What to compute of an item; the file of its results includes the plan, so that missing cells are known.

    ``preset``, ``rows``, ``selection`` and ``most_epochs`` are for tables; if empty, they mean the item's preset, all
    rows, both selections, and no limit.
    """

    item: str
    datasets: tuple[str, ...]
    seeds: int
    protocol: str
    quick: bool = False
    assignments: tuple[str, ...] = ()
    preset: str = ""
    rows: tuple[str, ...] = ()
    selection: str = ""
    most_epochs: int = 0

    @property
    def label(self) -> str:
        """The name of the item's files, which distinguishes quick versions."""
        return f"{self.item}-quick" if self.quick else self.item

    def to_dict(self) -> dict[str, Any]:
        """Plain values; fields for tables are left out if they are empty."""
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return {key: value for key, value in values.items() if value or key not in _OF_TABLES}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Plan":
        """The inverse of ``to_dict``; raises TypeError or ValueError for anything else."""
        plan = Plan(**values)
        lists = {name: tuple(getattr(plan, name)) for name in ("datasets", "assignments", "rows")}
        texts = [*(text for some in lists.values() for text in some), plan.item, plan.protocol, plan.preset]
        if not all(isinstance(text, str) for text in [*texts, plan.selection]) or not plan.datasets:
            raise ValueError("names must be texts")
        if type(plan.seeds) is not int or plan.seeds < 1 or type(plan.quick) is not bool:
            raise ValueError("seeds must be a positive integer, and quick true or false")
        if type(plan.most_epochs) is not int or plan.most_epochs < 0:
            raise ValueError("most_epochs must be an integer from 0")
        return Plan(**dict(values) | lists)


@dataclass(frozen=True)
class Placed:
    """A cell and its position in the item: one value for each of the item's axes."""

    at: tuple[Any, ...]
    cell: Cell
