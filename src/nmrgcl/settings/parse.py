"""TOML and JSON as people write them; ValueError where they are invalid, nest too deeply or repeat a key."""

import json
import re
import tomllib
from typing import Any

MAX_DEPTH = 32
"""Levels of tables and lists; settings need five."""

_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:{_PART}){{{MAX_DEPTH}}}")
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text."""
    if _DEEP_KEY.search(text):  # tomllib takes a minute for a dotted key of 50,000 parts
        raise ValueError(_TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _require_plain(values)
    return values


def parse_json(text: str) -> Any:
    """What a JSON text says."""
    try:
        values = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _require_plain(values)
    return values


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key[:60]!r} is there twice; leave one of them out")
        found[key] = value
    return found


def _require_plain(values: Any) -> None:
    """Tables, lists, texts, numbers, true and false, and not too deep; TOML also knows dates."""
    level = [values]
    for _ in range(MAX_DEPTH):
        if odd := [value for value in level if not isinstance(value, dict | list | str | int | float | None)]:
            raise ValueError(f"{odd[0]} is a date or time, which no setting is")
        containers = [value for value in level if isinstance(value, dict | list)]
        level = [part for value in containers for part in (value.values() if isinstance(value, dict) else value)]
    if level:
        raise ValueError(_TOO_DEEP)
