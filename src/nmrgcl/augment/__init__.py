"""Views: Graphs → Graphs, each on a whole batch at once."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

from nmrgcl.augment.choose import Compose, Identity, OneOf, on_halves
from nmrgcl.augment.edges import AddEdges, DropEdges
from nmrgcl.augment.features import DropFeatures, MaskFeatures
from nmrgcl.augment.nodes import DropNodes, ShuffleNodes
from nmrgcl.augment.subgraph import Subgraph
from nmrgcl.augment.view import View
from nmrgcl.errors import SettingError, nearest

VIEWS: dict[str, type] = {
    view.__name__: view
    for view in (Identity, DropNodes, ShuffleNodes, DropEdges, AddEdges, MaskFeatures, DropFeatures, Subgraph)
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
    "DropEdges",
    "DropFeatures",
    "DropNodes",
    "Identity",
    "MaskFeatures",
    "OneOf",
    "ShuffleNodes",
    "Subgraph",
    "View",
    "build_view",
    "on_halves",
]


def build_view(choices: Sequence[Mapping[str, object]]) -> View:
    """The view that settings describe: ``[{"name": "DropNodes", "p": 0.2}, …]``, several meaning one of them."""
    views = [_build_one(dict(choice)) for choice in choices]
    if not views:
        return Identity()
    return views[0] if len(views) == 1 else OneOf(*views)


def _build_one(options: dict[str, object]) -> View:
    name = str(options.pop("name", ""))
    known = {key.lower(): VIEWS[PAPER_NAMES.get(key, key)] for key in (*VIEWS, *PAPER_NAMES)}
    if name.lower() not in known:
        raise SettingError(f"unknown view {name!r}; {nearest(name, (*VIEWS, *PAPER_NAMES))}")
    view = known[name.lower()]
    allowed = {field.name: field.type for field in fields(view)}
    for key, value in options.items():
        if key not in allowed:
            raise SettingError(
                f"view {name} has no option {key!r}; {nearest(key, allowed) if allowed else 'it has none'}"
            )
        if isinstance(value, bool) or not isinstance(value, int if allowed[key] is int else int | float):
            raise SettingError(
                f"view {name}: {key} = {value!r} must be {'a whole' if allowed[key] is int else 'a'} number"
            )
    built: View = view(**options)
    return built
