"""The tables and figures of the paper ("items"): one module each, with its cells, claims, verdicts and picture."""

from importlib import import_module
from typing import TYPE_CHECKING

from nmrgcl.errors import SettingError, nearest

if TYPE_CHECKING:  # Importing items loads matplotlib, which is not needed for reading a table.
    from nmrgcl.reproduce.item import Item

NAMES = (
    *("table1", "table2", "table3"),
    *("figure1", "figure3", "figure5", "figure6", "figure7", "figure8"),
    *("rank", "tuning", "theory"),
)


def find_item(name: str) -> "Item":
    """The item called ``name``."""
    if name not in NAMES:
        raise SettingError(f"unknown item {name!r}; {nearest(name, NAMES)}")
    item: Item = import_module(f"nmrgcl.reproduce.{name}").ITEM
    return item


__all__ = ["NAMES", "find_item"]
