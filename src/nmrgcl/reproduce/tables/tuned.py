"""Presets that a search has found, where there are any."""

import tomllib
from importlib import resources
from typing import Any

from nmrgcl.settings.check import flatten


def tuned_values(dataset: str) -> dict[str, Any] | None:
    """What ``presets/tuned/DATASET.toml``, or that dataset's table in ``presets/tuned.toml``, sets; None without."""
    presets = resources.files("nmrgcl") / "presets"
    own, shared = presets / "tuned" / f"{dataset}.toml", presets / "tuned.toml"
    if "/" not in dataset and own.is_file():
        values = tomllib.loads(own.read_text(encoding="utf-8"))
        special = values.pop("dataset", {}).get(dataset, {})
        return dict(flatten(values)) | dict(flatten(special))
    if shared.is_file():
        values = tomllib.loads(shared.read_text(encoding="utf-8"))
        special = values.pop("dataset", {})
        if dataset in special:
            return dict(flatten(values)) | dict(flatten(special[dataset]))
    return None
