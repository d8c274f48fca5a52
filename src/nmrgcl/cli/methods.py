"""``nmrgcl methods``."""

import json
import sys
from dataclasses import fields
from typing import Annotated, Any, get_args, get_type_hints

import typer

from nmrgcl.cli.options import AsJson


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Or a file: show its options.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its options: every file in ``nmrgcl/methods`` is one, and yours may be.

    Examples:

      nmrgcl methods

      nmrgcl methods nmrgcl

      nmrgcl methods path/to/mine.py

      nmrgcl methods --json
    """
    from nmrgcl.errors import SettingError
    from nmrgcl.method_files import method_reference
    from nmrgcl.methods import method_names

    if name is not None:
        _show(_facts(method_reference(name)), as_json)
        return
    rows, problems = [], []
    for one in method_names():
        try:
            rows.append(_facts(one))
        except SettingError as error:  # one broken file hides no other
            problems.append(str(error))
    if as_json:
        print(json.dumps({"methods": rows, "problems": problems}))
        return
    for row in rows:
        embeds = " and ".join(f"{level}s" for level in row["presets"])
        print(f"{row['name']:<10} {embeds:<17} {row['summary']}")
    for problem in problems:
        print(f"nmrgcl: {problem}", file=sys.stderr)


def _facts(name: str) -> dict[str, Any]:
    from nmrgcl.method_files import options_class
    from nmrgcl.methods import find_method
    from nmrgcl.own_code import label

    kind, options = find_method(name), options_class(name)
    hints = get_type_hints(options)
    return {
        "name": label(name),
        "summary": (kind.__doc__ or "").strip().partition("\n")[0],
        "fixed": kind.FIXED,
        "presets": kind.PRESETS,
        "options": [
            {
                "name": field.name,
                "default": field.default,
                "choices": list(get_args(hints[field.name])),
                "about": field.metadata.get("doc", ""),
            }
            for field in fields(options)
        ],
    }


def _show(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts))
        return
    print(f"{facts['name']}: {facts['summary']}")
    for level, preset in facts["presets"].items():
        print(f"embeds {level}s; preset {preset} unless another is named")
    for key, value in facts["fixed"].items():
        print(f"always has {key} = {value}")
    print("options, set with --set NAME=VALUE:" if facts["options"] else "no options of its own")
    for option in facts["options"]:
        choices = f" ({', '.join(option['choices'])})" if option["choices"] else ""
        print(f"  {option['name']:<12} {option['default']!s:<12} {option['about']}{choices}")
