"""Resolve the settings of a training, in one way for commands, tables, searches and estimators."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmrgcl import own_code
from nmrgcl.data.dataset import Dataset
from nmrgcl.encode.named import Named, encoder_reference, is_own
from nmrgcl.errors import DataError, SettingError
from nmrgcl.method_files import method_reference
from nmrgcl.methods import Method, find_method, method_names
from nmrgcl.settings import Settings, full_key, read_assignments, resolve
from nmrgcl.settings.check import flatten
from nmrgcl.settings.schema import EncoderSettings, ForeignOptionError

_LIKELY = "nmrgcl"
SettingValues = Mapping[str, Any] | Sequence[str]
"""A mapping from keys to values, or texts such as ``epochs=12``."""


def recipe(
    method: str | type[Method] | None = None,
    *,
    preset: str | None = None,
    config: Path | None = None,
    assignments: SettingValues = (),
    level: str = "graph",
    dataset: str | None = None,
    method_wins: bool = False,
    source: str = "--set",
) -> Settings:
    """Combine ``preset``, ``config`` and ``assignments``, of which later ones win, with what the method fixes.

    Args:
        method: the name, file or class of the method; None: the one named by preset, config or assignments.
        preset: the preset; None: the method's own for ``level``, unless there is a config.
        config: a settings file.
        assignments: individual settings.
        level: what is embedded: "graph", "node", or "molecule" for graphs that are molecules.
        dataset: the name of a dataset in the catalog, for which a preset may have special values.
        method_wins: ignore assignments to settings that the method fixes or does not have, instead of refusing them.
        source: how messages refer to the assignments.

    Example:
        >>> from nmrgcl import resolve
        >>> settings = resolve("nmrgcl", preset="graphcl", assignments={"epochs": 5, "delta": 0.5})
        >>> settings.train.epochs, settings.options.delta
        (5, 0.5)
    """
    given = read_assignments(assignments)
    if method is not None:
        method = method_reference(method)
    if method is None:
        method = resolve(preset, config, {"method": given["method"]} if "method" in given else {}).method
    elif given.get("method", method) != method:
        raise SettingError(f"settings: method={given['method']}, but the method is {method}; leave one of the two out")
    if preset is None and config is None:
        preset = default_preset(method, level)
    settings = resolve(preset, config, dataset=dataset, method=method).updated(find_method(method).FIXED)
    chosen = free_assignments(method, given) if method_wins else given
    changed = settings.updated(chosen, source=source)
    if is_own(changed.encoder.name) and changed.encoder.name != settings.encoder.name:
        # A preset's settings for the inside of its own encoder do not apply to a user's network.
        own = ("activation", "activate_last", "dropout", "norm", "jk")
        plain = {f"encoder.{key}": getattr(EncoderSettings, key) for key in own}
        changed = settings.updated(plain).updated(chosen, source=source)
    require_meaning(changed)
    return changed


def with_encoder(assignments: SettingValues, encoder: Named | None) -> dict[str, Any]:
    """The assignments plus the encoder, which may be given as a name, file, class, function or instance."""
    given = read_assignments(assignments)
    if encoder is None:
        return given
    named = encoder_reference(encoder)
    for key in ("encoder.name", "name"):
        if given.get(key, named) != named:
            raise SettingError(f"settings: {key}={given[key]}, but the encoder is {named}; leave one of the two out")
    return given | {"encoder.name": named}


def with_options(assignments: Mapping[str, Any], options: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    """The assignments plus those made by command-line options, given as option → (setting, value or None).

    An assignment may omit the group of a setting.
    """
    given = dict(assignments)
    for option, (key, value) in options.items():
        if value is not None:
            for name in (key, key.rpartition(".")[2]):
                if given.get(name, value) != value:
                    raise SettingError(f"--set {name}={given[name]}: {option} says {value}; leave one of the two out")
            given[key] = value
    return given


def default_preset(method: str, level: str) -> str:
    """The preset of a method for ``level``, or its first one if it has none; that of a user's file is next to it."""
    kind = find_method(method)
    presets: dict[str, str] = dict(kind.PRESETS)  # type: ignore[arg-type]
    if level == "molecule" and "graph" in presets:
        presets[level] = kind.MOLECULES or presets["graph"]
    preset = presets.get(level) or next(iter(presets.values()))
    beside = own_code.is_reference(method) and preset.endswith(".toml")
    return str(own_code.origin(method).parent / preset) if beside else preset


def free_assignments(method: str, assignments: SettingValues) -> dict[str, Any]:
    """The assignments that apply to this method: not to settings it fixes, nor to options of other methods."""
    fixed, free = find_method(method).FIXED, {}
    for key, value in read_assignments(assignments).items():
        try:
            if full_key(key, method, "--set") not in fixed:
                free[key] = value
        except ForeignOptionError:
            continue
    return free


def require_meaning(settings: Settings) -> None:
    """Refuse settings that contradict the values that define their method."""
    plain = dict(flatten(settings.to_dict()))
    for key, value in find_method(settings.method).FIXED.items():
        if plain[key] != value:
            raise SettingError(
                f"method {settings.label} means {key} = {value!r}, not {plain[key]!r}; leave {key} out or change the "
                "method"
            )


def require_level(dataset: Dataset, settings: Settings) -> None:
    """Refuse a dataset that does not suit the level: node embeddings need one graph, graph embeddings need several."""
    graphs = dataset.counts[0]
    if settings.level == "node" and graphs != 1:
        raise DataError(
            f"{dataset.name}: has {graphs} graphs, but level = node embeds the nodes of one graph; "
            f"{advice(settings, 'graph')}"
        )
    if settings.level == "graph" and dataset.level == "node":
        raise DataError(
            f"{dataset.name}: is one graph whose nodes are labelled, but level = graph embeds graphs; "
            f"{advice(settings, 'node')}"
        )
    if settings.level == "graph" and graphs < 2:
        raise DataError(
            f"{dataset.name}: method {settings.label} needs at least two graphs, this dataset has {graphs}"
            + (f"; to embed the nodes of its graph, {advice(settings, 'node')}" if graphs else "")
        )


def advice(settings: Settings, level: str) -> str:
    """What to use for graphs of ``level`` instead of these settings."""
    presets = dict(find_method(settings.method).PRESETS)
    if level in presets:
        return f"use preset {presets[level]} (level = {level})"
    able = [name for name in method_names() if level in find_method(name).PRESETS]
    name = _LIKELY if _LIKELY in able else able[0]
    preset = default_preset(name, level)
    return f"use method {name} with preset {preset}"
