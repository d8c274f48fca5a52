"""Parse TOML and JSON; raise ValueError if they are invalid, nested too deeply or repeat a key."""

import json
import re
import tomllib
from typing import Any

MAX_DEPTH = 32
"""Largest nesting depth of tables and lists; settings need five."""

_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:{_PART}){{{MAX_DEPTH}}}")
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML."""
    if _DEEP_KEY.search(text):  # tomllib takes a minute for a dotted key of 50,000 parts
        raise ValueError(_TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _require_plain(values)
    return values


def parse_json(text: str) -> Any:
    """Parse JSON."""
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
            raise ValueError(f"{key[:60]!r} occurs twice; remove one of them")
        found[key] = value
    return found


def _require_plain(values: Any) -> None:
    """Refuse dates and times, which TOML also has, and too deep nesting."""
    level = [values]
    # Level by level, because recursion could exhaust the stack.
    for _ in range(MAX_DEPTH):
        if odd := [value for value in level if not isinstance(value, dict | list | str | int | float | None)]:
            raise ValueError(f"{odd[0]} is a date or time, but no setting is one")
        containers = [value for value in level if isinstance(value, dict | list)]
        level = [part for value in containers for part in (value.values() if isinstance(value, dict) else value)]
    if level:
        raise ValueError(_TOO_DEEP)
