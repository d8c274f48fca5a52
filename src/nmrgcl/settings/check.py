"""Check settings strictly: the key must exist and the value must be valid, else the error states what is expected."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmrgcl.errors import SettingError, nearest

LARGEST = 2**31 - 1
"""Upper bound of integers that have no other."""

ViewChoices = tuple[dict[str, Any], ...]


def setting(default: Any, doc: str = "", **limits: Any) -> Any:
    """Declare a setting with its default, description and limits (``min``, ``max``, ``above``, ``below``).

    Example:
        >>> from dataclasses import dataclass
        >>> from nmrgcl import setting
        >>> @dataclass(frozen=True)
        ... class Options:
        ...     tau: float = setting(0.2, "temperature of the loss", above=0)
        >>> Options().tau
        0.2
    """
    return field(default=default, metadata={"doc": doc, **limits})


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values by dotted key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def find_key(key: str, known: Sequence[str]) -> str | None:
    """Return the full dotted key for ``key``, which may omit its group: options and training settings come first."""
    for name in (key, f"options.{key}", f"train.{key}"):
        if name in known:
            return name
    matches = [name for name in known if name.rpartition(".")[2] == key]
    return matches[0] if len(matches) == 1 else None


def build(kind: type, values: Mapping[str, Any], source: str, prefix: str = "") -> Any:
    """Build a dataclass of type ``kind`` from complete nested values; parts that are dataclasses are kept."""
    hints = get_type_hints(kind)
    built: dict[str, Any] = {}
    for f in fields(kind):
        key, value = f"{prefix}{f.name}", values[f.name]
        if is_dataclass(value):
            built[f.name] = value
        elif is_dataclass(hints[f.name]):
            built[f.name] = build(hints[f.name], value, source, f"{key}.")
        else:
            built[f.name] = _check(key, value, hints[f.name], f.metadata, source)
    return kind(**built)


def _check(key: str, value: Any, hint: Any, limits: Mapping[str, Any], source: str) -> Any:
    """Return ``value`` converted to the type ``hint``; raise SettingError if it is not valid."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        # Neither converted to a float nor shown: Python does not write integers of more than 4300 digits.
        raise SettingError(f"{source}: {key} is an integer of more than 308 digits; use a smaller number")
    if get_origin(hint) is Literal:
        choices = {in_toml(choice): choice for choice in get_args(hint)}
        # The second condition refuses the text "true" in place of true.
        if in_toml(value) not in choices or value != choices[in_toml(value)]:
            raise SettingError(f"{source}: {key} = {value!r}; {nearest(str(value), choices)}")
        return value
    if hint == ViewChoices:
        return _check_views(key, value, source)
    if hint is bool or hint is str:
        if not isinstance(value, hint):
            raise SettingError(f"{source}: {key} = {value!r} must be {'true or false' if hint is bool else 'a word'}")
        return value
    accepted: Any = int if hint is int else int | float
    # In Python, True is an int.
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise SettingError(f"{source}: {key} = {value!r} must be a {'whole ' if hint is int else ''}number")
    if not math.isfinite(value):
        raise SettingError(f"{source}: {key} = {value!r} must be finite")
    limits = {"max": LARGEST, **limits} if hint is int else limits
    if "min" in limits and value < limits["min"]:
        raise SettingError(f"{source}: {key} = {value!r} must be at least {limits['min']}")
    if "above" in limits and value <= limits["above"]:
        raise SettingError(f"{source}: {key} = {value!r} must be above {limits['above']}")
    if "max" in limits and value > limits["max"]:
        raise SettingError(f"{source}: {key} = {value!r} must be at most {limits['max']}")
    if "below" in limits and value >= limits["below"]:
        raise SettingError(f"{source}: {key} = {value!r} must be below {limits['below']}")
    # An int becomes a float where one is expected, so that 1 and 1.0 give the same key.
    return hint(value)


def in_toml(value: Any) -> str:
    """Return a value as TOML writes it; unlike in Python, 1 and true differ."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_views(key: str, value: Any, source: str) -> ViewChoices:
    if isinstance(value, str):
        value = [{"name": value}]  # --set views.first=DropNodes
    if not isinstance(value, list | tuple) or not all(isinstance(v, dict) and "name" in v for v in value):
        raise SettingError(f'{source}: {key} must be a list of views such as [{{name = "DropNodes", p = 0.2}}]')
    return tuple(dict(v) for v in value)
