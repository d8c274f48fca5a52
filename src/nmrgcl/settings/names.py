"""Refuse misspelt settings and invalid values of shared settings, without loading torch."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from nmrgcl import own_code
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_files import method_names
from nmrgcl.settings.check import build, flatten
from nmrgcl.settings.schema import ForeignOptionError, LinearSettings, Settings, SVMSettings, full_key
from nmrgcl.settings.sources import load_preset, preset_names, read_assignments, read_config


def require_known(
    methods: Sequence[str] = (),
    preset: str | None = None,
    config: Path | None = None,
    assignments: Sequence[str] = (),
) -> None:
    """Refuse unknown methods, presets and settings; ``resolve`` checks the rest, such as options of other methods."""
    named = load_preset(preset) if preset is not None else {}
    written = dict(flatten(read_config(config))) if config is not None else {}
    given = read_assignments(assignments)
    methods = methods or [str({**named, **written, **given}.get("method", Settings.method))]
    if any(own_code.is_path(method) or own_code.is_reference(method) for method in methods):
        return  # its options are known only after its file has been executed
    for method in methods:
        if method not in method_names():
            raise SettingError(f"unknown method {method!r}; {_instead(method)}")
    for key, value in given.items():
        with suppress(ForeignOptionError):  # some of several methods may have it
            _require_value(full_key(key, methods[0], "--set"), value)


def _instead(method: str) -> str:
    """What to write for a word that is no method, but may be a preset or an encoder."""
    if method in preset_names():
        return f"it is a preset of method {load_preset(method).get('method', Settings.method)}: use --preset {method}"
    if (supervised := f"supervised_graph_{method}") in preset_names():
        return f"it is an encoder; to train it with labels, use --preset {supervised} --protocol finetune"
    return nearest(method, method_names())


def require_protocol_keys(keys: Iterable[str]) -> None:
    """Refuse all settings but those of protocols, because the other settings of a model are fixed."""
    parts = {f.name for kind in (SVMSettings, LinearSettings) for f in fields(kind)}
    for key in keys:
        if not key.startswith(("svm.", "linear.")) and key not in parts:
            raise SettingError(f"--set {key}: only svm.* and linear.* can be set here; the model's settings are fixed")


def _require_value(key: str, value: Any) -> None:
    group, _, name = key.rpartition(".")
    if group not in ("", "options"):
        defaults = getattr(Settings, group)
        values: Mapping[str, Any] = asdict(defaults) | {name: value}
        build(type(defaults), values, "--set", f"{group}.")
