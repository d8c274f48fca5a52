"""Resolve settings from presets, files and ``key=value`` assignments; later sources override earlier ones."""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.errors import SettingError, nearest
from nmrgcl.settings.check import flatten
from nmrgcl.settings.parse import parse_json, parse_toml
from nmrgcl.settings.renamed import is_old, renamed
from nmrgcl.settings.schema import Settings, setting_keys


def resolve(
    preset: str | None = None,
    config: Path | None = None,
    assignments: Sequence[str] | Mapping[str, Any] = (),
    *,
    dataset: str | None = None,
    method: str | None = None,
) -> Settings:
    """Resolve defaults, then ``preset``, then ``config``, then ``key=value`` assignments.

    Args:
        preset: name of a preset; options that ``method`` does not have are ignored.
        config: a file of settings.
        assignments: ``key=value`` texts, or values by key.
        dataset: name in the catalog; a preset may have special values for some datasets.
        method: name of the method; None: the one named by the last source.
    """
    named = load_preset(preset, dataset) if preset is not None else {}
    written = dict(flatten(read_config(config))) if config is not None else {}
    given = read_assignments(assignments)
    if method is None:
        method = {**named, **written, **given}.get("method", Settings.method)
    settings = Settings().updated({"method": method})
    own = setting_keys(method)
    lent = {key: value for key, value in named.items() if not key.startswith("options.") or key in own}
    for values, source in ((lent, f"preset {preset}"), (written, str(config)), (given, "--set")):
        # The method is settled; a source that names another one must not reset the options.
        settings = settings.updated({**values, "method": method}, source=source)
    return settings


def preset_names() -> list[str]:
    """Return the names of the presets in the package."""
    return sorted(p.name.removesuffix(".toml") for p in _presets().iterdir() if p.name.endswith(".toml"))


def load_preset(name: str, dataset: str | None = None) -> dict[str, Any]:
    """Return the values of a preset by dotted key, with those of its table ``[dataset.NAME]``, if any."""
    values = _read_preset(name)
    special = values.pop("dataset", {})
    return dict(flatten(values)) | dict(flatten(special.get(dataset, {})))


def about_preset(name: str) -> str:
    """Return the comment at the beginning of a preset, on one line."""
    if name.endswith(".toml"):
        text = reading.read_text(Path(name).expanduser())
    else:
        text = _presets().joinpath(f"{name}.toml").read_text(encoding="utf-8")
    comment = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in comment)


def datasets_of_preset(name: str) -> list[str]:
    """Return the datasets for which a preset has special values."""
    return list(_read_preset(name).get("dataset", {}))


def _read_preset(name: str) -> dict[str, Any]:
    if name.endswith(".toml"):  # one of the user's own
        values = read_config(Path(name).expanduser())
        if not isinstance(values.get("dataset", {}), dict):
            raise SettingError(f"{name}: dataset must be a table of tables, such as [dataset.PubMed]")
        return values
    if name not in preset_names():
        raise SettingError(f"unknown preset {name!r}; {nearest(name, preset_names())}")
    return tomllib.loads(_presets().joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def read_config(path: Path) -> dict[str, Any]:
    """Read settings from a TOML or JSON file, or from the ``config.json`` of a model folder."""
    try:
        text = reading.read_text(path)
        values = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise SettingError(f"{path}: is not valid {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    if isinstance(values, dict) and isinstance(values.get("settings"), dict):
        values = values["settings"]
    if not isinstance(values, dict):
        raise SettingError(f"{path}: expected a table of settings")
    return renamed(values) if is_old(values) else values


def read_assignments(assignments: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return values by key, from ``key=value`` texts or from values by nested or dotted key.

    A value in a text is parsed as TOML; if that fails, it is a string.
    """
    if isinstance(assignments, Mapping):
        return dict(flatten(assignments))
    return dict(_parse_assignment(text) for text in assignments)


def _parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"--set {text}: expected key=value, for example --set epochs=12")
    try:
        return key.strip(), parse_toml(f"value = {value}")["value"]
    except ValueError:
        return key.strip(), value.strip()  # a bare word: --set features=degree


def _presets() -> Any:
    return resources.files("nmrgcl") / "presets"
