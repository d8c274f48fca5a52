"""``nmrgcl presets``."""

import json
from typing import Annotated, Any

import typer

from nmrgcl.cli.completion import complete_preset
from nmrgcl.cli.options import AsJson


def presets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A preset, or a TOML file, to show.", autocompletion=complete_preset),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets, or show the origin and settings of one.

    Examples:

      nmrgcl presets

      nmrgcl presets strong

      nmrgcl presets strong --json
    """
    from nmrgcl.settings import preset_names

    if name is not None:
        facts = _facts(name)
        print(json.dumps(facts) if as_json else _one(facts))
        return
    rows = [_facts(one) for one in preset_names()]
    if as_json:
        print(json.dumps({"presets": rows}))
        return
    from nmrgcl.cli.terminal import on_one_line

    for row in rows:
        print(on_one_line(f"{row['name']:<22}{row['method']:<14}{row['level'] + 's':<8}", row["about"]))


def _facts(name: str) -> dict[str, Any]:
    from nmrgcl.settings import Settings, about_preset, datasets_of_preset, load_preset

    values = load_preset(name)
    special = {dataset: load_preset(name, dataset) for dataset in datasets_of_preset(name)}
    own = {d: {key: value for key, value in all_.items() if values.get(key) != value} for d, all_ in special.items()}
    return {
        "name": name,
        "method": values.get("method", Settings.method),
        "level": values.get("level", Settings.level),
        "about": about_preset(name),
        "values": values,
        "datasets": own,
    }


def _one(facts: dict[str, Any]) -> str:
    from nmrgcl.cli.terminal import hanging
    from nmrgcl.settings import shared_settings

    defaults = {one.key: one.default for one in shared_settings()}
    width = max((len(key) for key in facts["values"]), default=0)
    lines = [hanging("", f"{facts['name']}: {facts['about']}" if facts["about"] else facts["name"])]
    for key, value in facts["values"].items():
        beside = (
            f" (default {_text(defaults[key])})" if key in defaults and _text(defaults[key]) != _text(value) else ""
        )
        lines.append(hanging(f"  {key:<{width}}  ", f"{_text(value)}{beside}"))
    for dataset, own in facts["datasets"].items():
        lines.append(hanging(f"  for {dataset}: ", ", ".join(f"{key} = {_text(value)}" for key, value in own.items())))
    return "\n".join([*lines, f"use it: --preset {facts['name']}; what a setting means: nmrgcl settings KEY"])


def _text(value: Any) -> str:
    from nmrgcl.settings.check import in_toml

    return json.dumps(value) if isinstance(value, list | tuple) else in_toml(value)
