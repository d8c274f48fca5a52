"""The settings found by searches."""

import tomllib
from importlib import resources
from typing import Any

from nmrgcl.settings.check import flatten


def tuned_values(dataset: str) -> dict[str, Any] | None:
    """The settings of ``dataset`` in ``presets/tuned.toml``; None if it was not searched."""
    shared = resources.files("nmrgcl") / "presets" / "tuned.toml"
    if not shared.is_file():
        return None
    values = tomllib.loads(shared.read_text(encoding="utf-8"))
    special = values.pop("dataset", {})
    return dict(flatten(values)) | dict(flatten(special[dataset])) if dataset in special else None
