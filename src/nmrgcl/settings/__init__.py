"""Settings: strict on the way in, complete on the way out.

Resolved settings are valid input again: ``Settings.from_dict(settings.to_dict()) == settings``.
"""

from nmrgcl.settings.check import setting
from nmrgcl.settings.schema import (
    FinetuneSettings,
    LinearSettings,
    Settings,
    SVMSettings,
    TrainSettings,
    full_key,
    setting_keys,
)
from nmrgcl.settings.sources import (
    datasets_of_preset,
    load_preset,
    preset_names,
    read_assignments,
    read_config,
    resolve,
)

__all__ = [
    "FinetuneSettings",
    "LinearSettings",
    "SVMSettings",
    "Settings",
    "TrainSettings",
    "datasets_of_preset",
    "full_key",
    "load_preset",
    "preset_names",
    "read_assignments",
    "read_config",
    "resolve",
    "setting",
    "setting_keys",
]
