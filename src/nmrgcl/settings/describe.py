"""Describe settings: key, accepted values, default and meaning."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmrgcl.method_files import method_names, option_names, options_class
from nmrgcl.settings.check import ViewChoices, in_toml
from nmrgcl.settings.schema import Settings


@dataclass(frozen=True)
class SettingFacts:
    """The description of a setting.

    Attributes:
        key: dotted key, as for ``--set``.
        values: accepted values.
        default: default value without a preset.
        meaning: what it does.
        methods: the methods that have it; empty for all.
    """

    key: str
    values: str
    default: Any
    meaning: str
    methods: tuple[str, ...] = ()


def shared_settings() -> list[SettingFacts]:
    """Describe the settings that all methods share, without importing a method or torch."""
    return list(_describe(Settings, ""))


def method_options(method: str) -> list[SettingFacts]:
    """Describe the options of a method."""
    return list(_describe(options_class(method), "options.", (method,)))


def find_settings(key: str) -> list[SettingFacts]:
    """Describe the settings that match ``key`` by full key, group or last part, and options with their methods."""
    group, _, leaf = key.rpartition(".")
    found = [one for one in shared_settings() if key in (one.key, one.key.partition(".")[0], one.key.split(".")[-1])]
    if group in ("", "options") and leaf in option_names():
        options = [one for name in method_names() for one in method_options(name) if one.key == f"options.{leaf}"]
        # Methods whose options agree in everything share one description.
        for alike in dict.fromkeys(replace(one, methods=()) for one in options):
            methods = (one.methods[0] for one in options if replace(one, methods=()) == alike)
            found.append(replace(alike, methods=tuple(methods)))
    return found


def _describe(kind: type, prefix: str, methods: tuple[str, ...] = ()) -> Iterator[SettingFacts]:
    hints = get_type_hints(kind)
    for field in fields(kind):
        key, hint = f"{prefix}{field.name}", hints[field.name]
        if is_dataclass(hint):
            yield from _describe(hint, f"{key}.")  # type: ignore[arg-type]
        elif key != "options":
            values = _values(hint, field.metadata)
            yield SettingFacts(key, values, field.default, field.metadata.get("doc", ""), methods)


def _values(hint: Any, limits: Mapping[str, Any]) -> str:
    """Return the accepted values in words."""
    if get_origin(hint) is Literal:
        return ", ".join(in_toml(choice) for choice in get_args(hint))
    if hint == ViewChoices:
        return "list of views"
    words = {bool: "true or false", str: "word", int: "whole number", float: "number"}
    bounds = {"min": "from", "above": "above", "max": "up to", "below": "below"}
    given = [f"{word} {limits[name]}" for name, word in bounds.items() if name in limits]
    return " ".join([words.get(hint, "value"), *given])
