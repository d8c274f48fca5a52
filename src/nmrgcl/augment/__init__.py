"""Views: Graphs → Graphs, each on a whole batch at once."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from nmrgcl.augment.adaptive import DropCentralEdgesLess, MaskCentralFeaturesLess
from nmrgcl.augment.choose import Compose, Drawn, Identity, OneOf, on_halves
from nmrgcl.augment.edges import AddEdges, DropEdges
from nmrgcl.augment.features import DropFeatures, MaskFeatures
from nmrgcl.augment.nodes import DropNodes, ShuffleNodes
from nmrgcl.augment.subgraph import Subgraph
from nmrgcl.augment.view import View
from nmrgcl.errors import SettingError, nearest

VIEWS: dict[str, type] = {
    view.__name__: view
    for view in (
        *(Identity, DropNodes, ShuffleNodes, DropEdges, AddEdges, MaskFeatures, DropFeatures, Subgraph),
        *(DropCentralEdgesLess, MaskCentralFeaturesLess),
    )
}

PAPER_NAMES = {
    "NodeDrop": "DropNodes",
    "NodeShuffling": "ShuffleNodes",
    "EdgeDrop": "DropEdges",
    "EdgeAdd": "AddEdges",
    "FeatureMasking": "MaskFeatures",
    "FeatureDropout": "DropFeatures",
    "RWS": "Subgraph",
}

__all__ = [
    "PAPER_NAMES",
    "VIEWS",
    "AddEdges",
    "Compose",
    "Drawn",
    "DropCentralEdgesLess",
    "DropEdges",
    "DropFeatures",
    "DropNodes",
    "Identity",
    "MaskCentralFeaturesLess",
    "MaskFeatures",
    "OneOf",
    "ShuffleNodes",
    "Subgraph",
    "View",
    "build_view",
    "on_halves",
]


def build_view(choices: Sequence[Mapping[str, object]]) -> View:
    """The view that settings describe: ``[{"name": "DropNodes", "p": 0.2}, …]``, several mean one of them.

    A choice with ``"weight": 3`` is drawn three times as often as one without. ``{"name": "Compose", "views": […]}``
    applies its views one after the other.

    Example:
        >>> from nmrgcl import build_view
        >>> build_view([{"name": "DropNodes", "p": 0.1}])
        DropNodes(p=0.1)
    """
    if not choices:
        return Identity()
    options = [dict(choice) for choice in choices]
    weights: list[Any] = [option.pop("weight", 1) for option in options]
    either = OneOf(*(_build_one(option) for option in options), weights=weights)
    return either.views[0] if len(either.views) == 1 else either


def _build_one(options: dict[str, object]) -> View:
    name = str(options.pop("name", ""))
    if name.lower() == "compose":
        return _compose(options)
    known = {key.lower(): VIEWS[PAPER_NAMES.get(key, key)] for key in (*VIEWS, *PAPER_NAMES)}
    if name.lower() not in known:
        raise SettingError(f"unknown view {name!r}; {nearest(name, (*VIEWS, *PAPER_NAMES, 'Compose'))}")
    view = known[name.lower()]
    allowed = {field.name: field.type for field in fields(view)}
    for key, value in options.items():
        if key not in allowed:
            raise SettingError(
                f"view {name} has no option {key!r}; {nearest(key, allowed) if allowed else 'it has none'}"
            )
        accepted, words = _KINDS[allowed[key]]
        if isinstance(value, bool) or not isinstance(value, accepted):
            raise SettingError(f"view {name}: {key} = {value!r} must be {words}")
    built: View = view(**options)
    return built


_KINDS: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    str: (str, "a word"),
}
"""Which values an option of each type accepts, and how messages call them."""


def _compose(options: dict[str, object]) -> View:
    parts = options.pop("views", None)
    if options or not isinstance(parts, list | tuple) or not all(isinstance(p, Mapping) for p in parts):
        raise SettingError(
            'view Compose takes views alone, for example {name = "Compose", views = [{name = "DropEdges", p = 0.2}]}'
        )
    return Compose(*(_build_one(dict(part)) for part in parts))
