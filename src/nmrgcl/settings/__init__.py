"""Settings, which are parsed strictly and resolved completely.

Resolved settings are valid input: ``Settings.from_dict(settings.to_dict()) == settings``.
"""

from nmrgcl.settings.check import setting
from nmrgcl.settings.describe import SettingFacts, find_settings, shared_settings
from nmrgcl.settings.names import require_known, require_protocol_keys
from nmrgcl.settings.schema import FinetuneSettings, Settings, SVMSettings, TrainSettings, full_key, setting_keys
from nmrgcl.settings.sources import (
    about_preset,
    datasets_of_preset,
    load_preset,
    preset_names,
    read_assignments,
    read_config,
    resolve,
)

__all__ = [
    "FinetuneSettings",
    "SVMSettings",
    "SettingFacts",
    "Settings",
    "TrainSettings",
    "about_preset",
    "datasets_of_preset",
    "find_settings",
    "full_key",
    "load_preset",
    "preset_names",
    "read_assignments",
    "read_config",
    "require_known",
    "require_protocol_keys",
    "resolve",
    "setting",
    "setting_keys",
    "shared_settings",
]
