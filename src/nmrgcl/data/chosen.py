"""A user's choice of the node and edge attributes to use."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nmrgcl.errors import SettingError


@dataclass(frozen=True)
class Chosen:
    """Which named attributes to use.

    Attributes:
        node_feature: the node attributes to use as features, in this order; None: all that are usable.
        edge_feature: the same for edges.
        edge_weight: the edge attribute that holds the weight, if there is one; None: edges are unweighted.
        categorical: treat integer attributes as categories, one-hot encoded.
    """

    node_feature: tuple[str, ...] | None = None
    edge_feature: tuple[str, ...] | None = None
    edge_weight: str | None = "weight"
    categorical: bool = False

    @classmethod
    def of(cls, *, node_feature: Any, edge_feature: Any, edge_weight: Any, categorical: Any) -> "Chosen":
        """Check a user's arguments; features are a name, a list of names, or None."""
        if edge_weight is not None and not isinstance(edge_weight, str):
            raise SettingError(f"edge_weight must be the name of an edge attribute or None, not {_kind(edge_weight)}")
        if not isinstance(categorical, bool):
            raise SettingError(f"categorical must be True or False, not {_kind(categorical)}")
        return cls(_names(node_feature, "node"), _names(edge_feature, "edge"), edge_weight, categorical)


ALL = Chosen()
"""The default: every usable attribute, and ``weight`` as the edge weight."""


def _names(given: Any, what: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, str | dict) else [given]
    for name in names:
        if not isinstance(name, str):
            raise SettingError(
                f"{what}_feature must be the name of a {what} attribute or a list of names, not {_kind(name)}"
            )
    if what == "node" and "y" in names:
        raise SettingError("node_feature: y is the class of a node and cannot be a feature; leave it out")
    if len(set(names)) < len(names):
        raise SettingError(f"{what}_feature contains an attribute twice: {', '.join(names)}")
    return tuple(names)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.30}"
