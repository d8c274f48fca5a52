"""Names of settings in version 1, and their current names."""

from collections.abc import Mapping
from typing import Any

from nmrgcl.method_files import options_class
from nmrgcl.settings.check import flatten

OPTIONS = {
    "head.units": "head_units",
    "removal.kind": "removal",
    "removal.delta": "delta",
    "removal.where": "where",
    "loss.name": "loss",
    "loss.tau": "tau",
    "loss.decorrelate": "decorrelate",
    "loss.beta": "beta",
    "loss.momentum": "momentum",
    "diffusion.name": "diffusion",
    "diffusion.alpha": "alpha",
    "diffusion.time": "time",
    "diffusion.keep": "keep",
}
"""Settings that became options of the methods that use them."""

RENAMED = {
    "finetune.tune_epochs": "finetune.epochs",
    "finetune.tune_lr": "finetune.lr",
    "finetune.tune_patience": "finetune.patience",
    "tune_epochs": "finetune.epochs",
    "tune_lr": "finetune.lr",
    "tune_patience": "finetune.patience",
}
"""Settings that all methods share."""


def is_old(settings: Any) -> bool:
    """Return True if these are complete settings written by version 1."""
    if not isinstance(settings, Mapping) or not isinstance(settings.get("method"), str):
        return False
    return all(isinstance(settings.get(name), Mapping) for name in ("head", "removal", "loss", "diffusion"))


def renamed(old: Mapping[str, Any]) -> dict[str, Any]:
    """Convert complete settings of version 1 to current names, without those that their method does not use."""
    new: dict[str, Any] = {}
    known = options_class(str(old["method"])).__dataclass_fields__
    for key, value in flatten(old):
        if key not in OPTIONS:
            new[RENAMED.get(key, key)] = value
        elif OPTIONS[key] in known:
            new[f"options.{OPTIONS[key]}"] = value
    return new
