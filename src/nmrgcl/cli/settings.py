"""``nmrgcl settings``."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.completion import complete_key, known_keys
from nmrgcl.cli.options import AsJson
from nmrgcl.errors import SettingError, nearest

if TYPE_CHECKING:
    from nmrgcl.settings import SettingFacts


def settings(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="[KEY]",
            help="A setting, or a group such as encoder. (default: all)",
            autocompletion=complete_key,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the settings that all methods share, or show the values, default and meaning of one.

    Change a setting with --set KEY=VALUE; its group may be omitted if the rest is unique. nmrgcl presets NAME shows the
    values of a preset, and nmrgcl methods NAME the options of a method.

    Examples:

      nmrgcl settings

      nmrgcl settings encoder

      nmrgcl settings tau

      nmrgcl settings train.lr --json
    """
    from nmrgcl.settings import find_settings, shared_settings

    found = shared_settings() if key is None else find_settings(key)
    if not found:
        known = {one.key.partition(".")[0] for one in shared_settings()}
        raise SettingError(f"unknown setting {key!r}; {nearest(str(key), {*known_keys(), *known})}")
    if as_json:
        print(json.dumps({"settings": [asdict(one) for one in found]}))
        return
    print("\n".join(_lines(found)))
    if key is None:
        print("options of a method: nmrgcl methods NAME; values of a preset: nmrgcl presets NAME")


def _lines(found: "list[SettingFacts]") -> list[str]:
    from nmrgcl.cli.terminal import hanging
    from nmrgcl.settings.check import in_toml

    width, lines = max(len(one.key) for one in found), []
    for one in found:
        default = json.dumps(one.default) if isinstance(one.default, tuple) else in_toml(one.default)
        methods = f"; of {', '.join(one.methods)}" if one.methods else ""
        lines.append(hanging(f"{one.key:<{width}}  ", f"{one.meaning}{methods} ({one.values}; default {default})"))
    return lines
