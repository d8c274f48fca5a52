"""Whether a dataset is what settings want to embed: graphs, or the nodes of one graph."""

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import DataError
from nmrgcl.methods import find_method, method_names
from nmrgcl.settings import Settings

_LIKELY = "nmrgcl"


def require_level(dataset: Dataset, settings: Settings) -> None:
    """Refuse one graph where graphs are embedded, and several where nodes are; say which setting is meant."""
    graphs = dataset.counts[0]
    if settings.level == "node" and graphs != 1:
        raise DataError(
            f"{dataset.name}: has {graphs} graphs, but level = node embeds the nodes of one graph; "
            f"{_advice(settings, 'graph')}"
        )
    if settings.level == "graph" and dataset.level == "node":
        raise DataError(
            f"{dataset.name}: is one graph whose nodes are labelled, but level = graph embeds graphs; "
            f"{_advice(settings, 'node')}"
        )
    if settings.level == "graph" and graphs < 2:
        raise DataError(
            f"{dataset.name}: contrast needs at least two graphs, this dataset has {graphs}"
            + (f"; for its nodes {_advice(settings, 'node')}" if graphs else "")
        )


def default_preset(method: str, level: str) -> str:
    """The recipe of a method at that level, or its own where it knows no such level."""
    presets = find_method(method).PRESETS
    return dict(presets).get(level) or next(iter(presets.values()))  # type: ignore[call-overload]


def class_labels(dataset: Dataset, level: str) -> np.ndarray:
    """``[B]`` or ``[N]`` class codes of the graphs or nodes, -1 where one has none."""
    if dataset.y is None or dataset.level != level or not (dataset.y >= 0).any():
        has = (
            "its labels are of nodes" if dataset.level == "node" and dataset.y is not None else f"has no {level} labels"
        )
        raise DataError(f"{dataset.name}: {has}, so there is nothing to judge {level}s against")
    return dataset.y


def _advice(settings: Settings, level: str) -> str:
    presets = dict(find_method(settings.method).PRESETS)
    if level in presets:
        return f"use --preset {presets[level]} (level = {level})"
    able = [name for name in method_names() if level in find_method(name).PRESETS]
    name = _LIKELY if _LIKELY in able else able[0]
    preset = default_preset(name, level)
    return f"method {settings.method} embeds {settings.level}s only: use --method {name} --preset {preset}"
