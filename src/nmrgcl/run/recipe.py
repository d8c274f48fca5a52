"""The settings of a training: one way to resolve them, for commands, tables, searches and estimators."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmrgcl.errors import SettingError
from nmrgcl.methods import find_method
from nmrgcl.run.level import default_preset
from nmrgcl.settings import Settings, parse_assignments, resolve, setting_keys
from nmrgcl.settings.check import find_key, flatten

Assignments = Mapping[str, Any] | Sequence[str]
"""Values by key, or texts such as ``epochs=12``."""


def recipe(
    method: str | None = None,
    *,
    preset: str | None = None,
    config: Path | None = None,
    assignments: Assignments = (),
    level: str = "graph",
    dataset: str | None = None,
    method_wins: bool = False,
) -> Settings:
    """Settings by ``preset``, ``config`` and ``assignments``, the later over the earlier, and those the method fixes.

    Args:
        method: its name; None: the one that preset, config or assignments name.
        preset: None: the method's own for ``level``, unless there is a config.
        config: a file of settings.
        assignments: single settings.
        level: of what is embedded.
        dataset: the catalog's name, for which a preset may have values of its own.
        method_wins: assignments to what the method fixes are left out, where they are an error otherwise.
    """
    settings = resolve(preset, config, dataset=dataset)
    given = _values(assignments)
    name = method or settings.updated(given, source="--set").method
    if preset is None and config is None:
        settings = resolve(default_preset(name, level), dataset=dataset)
    fixed = find_method(name).FIXED
    given = free_assignments(name, given) if method_wins else given
    settings = settings.updated({"method": name, **fixed}).updated(given, source="--set")
    require_meaning(settings)
    return settings


def free_assignments(method: str, assignments: Assignments) -> dict[str, Any]:
    """The assignments without those to settings that the method fixes."""
    fixed, keys = find_method(method).FIXED, setting_keys()
    return {key: value for key, value in _values(assignments).items() if find_key(key, keys, "--set") not in fixed}


def require_meaning(settings: Settings) -> None:
    """Refuse settings that are not those that make their method what it is."""
    plain = dict(flatten(settings.to_dict()))
    for key, value in find_method(settings.method).FIXED.items():
        if plain[key] != value:
            raise SettingError(
                f"method {settings.method} means {key} = {value!r}, not {plain[key]!r}; leave {key} out or change the "
                "method"
            )


def _values(assignments: Assignments) -> dict[str, Any]:
    if isinstance(assignments, Mapping):
        return dict(flatten(assignments))
    return parse_assignments(assignments)
