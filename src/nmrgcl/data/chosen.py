"""Which attributes of nodes and edges are used, where a user wants others than all."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nmrgcl.errors import SettingError


@dataclass(frozen=True)
class Chosen:
    """What to take from graphs whose attributes have names.

    Attributes:
        node_feature: the node attributes that become features, in this order; None: all that can.
        edge_feature: likewise the edge attributes.
        edge_weight: the edge attribute that is the weight, if edges have it; None: edges have no weight.
        categorical: attributes that are whole numbers name kinds of nodes, so each value is a column of its own.
    """

    node_feature: tuple[str, ...] | None = None
    edge_feature: tuple[str, ...] | None = None
    edge_weight: str | None = "weight"
    categorical: bool = False

    @classmethod
    def of(cls, *, node_feature: Any, edge_feature: Any, edge_weight: Any, categorical: Any) -> "Chosen":
        """From what a user passes: a name, several in a list, or None."""
        if edge_weight is not None and not isinstance(edge_weight, str):
            raise SettingError(f"edge_weight is the name of an edge attribute or None, not {_kind(edge_weight)}")
        if not isinstance(categorical, bool):
            raise SettingError(f"categorical is True or False, not {_kind(categorical)}")
        return cls(_names(node_feature, "node"), _names(edge_feature, "edge"), edge_weight, categorical)


ALL = Chosen()
"""What files mean by themselves."""


def _names(given: Any, what: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, str | dict) else [given]
    for name in names:
        if not isinstance(name, str):
            expected = f"the name of a {what} attribute or a list of names"
            raise SettingError(f"{what}_feature is {expected}; {_kind(name)} is none")
    if what == "node" and "y" in names:
        raise SettingError("node_feature: y is the class of a node, which is never a feature; leave it out")
    if len(set(names)) < len(names):
        raise SettingError(f"{what}_feature names an attribute twice: {', '.join(names)}")
    return tuple(names)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.30}"
