"""A search space as data: the settings that may change, and their possible values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl import reading
from nmrgcl.augment import build_view
from nmrgcl.errors import SettingError, UserError
from nmrgcl.run.cell import JUDGES
from nmrgcl.settings import Settings, full_key, setting_keys
from nmrgcl.settings.check import flatten
from nmrgcl.settings.parse import parse_toml
from nmrgcl.settings.schema import ForeignOptionError

STRENGTH = "strength"
"""A key of a space that is not a setting: the ``p`` of every view but Subgraph, where it is a restart probability."""

_GIVEN = ("method", "seed", "level")


@dataclass(frozen=True)
class Space:
    """The space that candidates are drawn from.

    Attributes:
        source: the file, for messages.
        options: the values for each key: values of a setting, tables for a group of settings, or ``STRENGTH`` numbers.
    """

    source: str
    options: Mapping[str, tuple[Any, ...]]

    def without(self, keys: Iterable[str]) -> "Space":
        """The space without these settings; groups that contain one of them are removed as a whole."""
        held = {*keys}
        held |= {key.partition(".")[0] for key in held if "." in key}
        held |= {STRENGTH} if "views" in held else set()
        return Space(self.source, {key: values for key, values in self.options.items() if key not in held})

    def draw(self, chance: np.random.Generator) -> dict[str, Any]:
        """Draw one value for each key, uniformly."""
        # Not chance.choice, which would turn the values into an array of one type.
        return {key: values[int(chance.integers(len(values)))] for key, values in self.options.items()}

    def apply(self, drawn: Mapping[str, Any], start: Settings) -> Settings:
        """``start`` with the drawn values."""
        values = {key: value for key, value in drawn.items() if key != STRENGTH}
        settings = start.updated(_spread(values), source=self.source)
        if STRENGTH not in drawn:
            return settings
        views = {"first": settings.views.first, "second": settings.views.second}
        changed = {f"views.{side}": [_at(view, drawn[STRENGTH]) for view in side_views]
                   for side, side_views in views.items()}  # fmt: skip
        return settings.updated(changed, source=self.source)


def read_space(name: str | Path = "graphs", method: str = "nmrgcl") -> Space:
    """Read a space from a TOML file, or a built-in one by its name; every value is checked.

    Options that ``method`` does not have are refused in a file, and ignored in a built-in space.
    """
    packaged = {file.name.removesuffix(".toml"): file for file in _packaged()}
    source = str(name)
    try:
        own = packaged.get(source)
        values = parse_toml(own.read_text(encoding="utf-8") if own else reading.read_text(Path(name)))
    except OSError as error:
        known = ", ".join(sorted(packaged))
        raise SettingError(f"{source}: cannot be read ({error.strerror}); name a TOML file or one of {known}") from None
    except ValueError as error:
        raise SettingError(f"{source}: not valid TOML ({error})") from None
    options = {}
    for key, value in flatten(values):
        try:
            full, checked = _checked(key, value, method, source)
        except ForeignOptionError:
            if own is None:
                raise
        else:
            options[full] = checked
    if not options:
        raise SettingError(f"{source}: an empty space; list values, for example options.tau = [0.1, 0.2]")
    return Space(source, options)


def _packaged() -> Iterator[Any]:
    yield from (file for file in (resources.files("nmrgcl") / "tune").iterdir() if file.name.endswith(".toml"))


def _checked(key: str, values: Any, method: str, source: str) -> tuple[str, tuple[Any, ...]]:
    """The full key and its values, each of which is checked on its own."""
    if not isinstance(values, list) or not values:
        raise SettingError(f"{source}: {key} = {values!r} must be a list of values to try, for example {key} = [1, 2]")
    if key == STRENGTH:
        if not all(isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in values):
            raise SettingError(f"{source}: {STRENGTH} = {values!r} must be probabilities")
        return key, tuple(values)
    groups = {name.partition(".")[0] for name in setting_keys(method) if "." in name}
    if key in groups and not all(isinstance(value, dict) for value in values):
        raise SettingError(f"{source}: {key} is a group of settings; list tables, for example [[{key}]]")
    key = key if key in groups else full_key(key, method, source)
    for value in values:
        _require_possible(_spread({key: value}), method, source)
    return key, tuple(values)


def _require_possible(values: Mapping[str, Any], method: str, source: str) -> None:
    settings = Settings(method=method).updated(values, source=source)
    for key in values:
        name = full_key(key, method, source)
        if name in _GIVEN or (name.partition(".")[0] in JUDGES and name != "svm.standardise"):
            raise SettingError(f"{source}: {name} must be the same for every candidate; leave it out of the space")
    try:
        build_view(settings.views.first)
        build_view(settings.views.second)
    except UserError as error:
        raise SettingError(f"{source}: {error}") from None


def _spread(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted keys, with the tables of groups expanded."""
    spread: dict[str, Any] = {}
    for key, value in values.items():
        spread |= dict(flatten(value, f"{key}.")) if isinstance(value, Mapping) else {key: value}
    return spread


def _at(view: Mapping[str, Any], p: float) -> dict[str, Any]:
    """The view with another ``p``, applied recursively to the views that it consists of."""
    if "views" in view:
        return dict(view) | {"views": [_at(part, p) for part in view["views"]]}
    return dict(view) | ({} if str(view["name"]).lower() in ("subgraph", "rws", "identity") else {"p": p})
