"""``nmrgcl methods``."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from nmrgcl.cli.completion import complete_method
from nmrgcl.cli.options import AsJson


def methods(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A method, or its file, to describe.", autocompletion=complete_method),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods by family, or describe one: what it trains, its options, its paper, and how it was verified.

    A method is a Python file; yours works like those of the package.

    Examples:

      nmrgcl methods

      nmrgcl methods nmrgcl

      nmrgcl methods path/to/mine.py

      nmrgcl methods --json
    """
    from nmrgcl.cli.methods_text import one_method, several_methods
    from nmrgcl.errors import SettingError
    from nmrgcl.method_files import method_names, method_reference
    from nmrgcl.settings import require_known

    if name is not None:
        require_known([name])
        facts = _facts(method_reference(name))
        print(json.dumps(facts) if as_json else one_method(facts))
        return
    rows, problems = [], []
    for one in method_names():
        try:
            rows.append(_facts(one) if as_json else _summary(one))
        except SettingError as error:  # a broken file must not hide the others
            problems.append(str(error))
    if as_json:
        print(json.dumps({"methods": rows, "problems": problems}))
        return
    print(several_methods(rows))
    for problem in problems:
        print(f"nmrgcl: {problem}", file=sys.stderr)


def _summary(name: str) -> dict[str, Any]:
    """Collect what the list shows; the methods of the package are only read, because importing them loads torch."""
    from nmrgcl.method_source import declared, is_packaged

    return {"name": name, **asdict(declared(name))} if is_packaged(name) else _facts(name)


def _facts(name: str) -> dict[str, Any]:
    """Collect the description of a method; what it does not state is None."""
    from nmrgcl.errors import SettingError
    from nmrgcl.methods import About, MoleculePretraining, Pretraining, find_method
    from nmrgcl.own_code import label
    from nmrgcl.reproduce.tables.sheet import figures_of
    from nmrgcl.settings import load_preset, preset_names

    kind = find_method(name)
    if kind.ABOUT is not None and not isinstance(kind.ABOUT, About):
        raise SettingError(f"method {label(name)}: its ABOUT must be an nmrgcl.methods.About")
    about = {field.name: getattr(kind.ABOUT, field.name, None) for field in fields(About)}
    figures = [{**asdict(one), **asdict(one.figure)} for one in figures_of(name)]
    return {
        "name": label(name),
        "summary": (kind.__doc__ or "").strip().partition("\n")[0],
        **about,
        "figures": [{key: value for key, value in one.items() if key != "figure"} for one in figures],
        "recorded": kind.CAPTURABLE if issubclass(kind, Pretraining) else None,
        "fixed": kind.FIXED,
        "presets": {"molecule": kind.PRESETS["graph"]} if issubclass(kind, MoleculePretraining) else kind.PRESETS,
        "presets_for_it": [one for one in preset_names() if load_preset(one).get("method") == name],
        "options": _options(name, kind.PRESETS),
    }


def _options(name: str, presets: Mapping[Any, str]) -> list[dict[str, Any]]:
    """The options with their defaults, and the values that the method's own presets give them instead."""
    from nmrgcl.method_files import options_class
    from nmrgcl.run.recipe import default_preset
    from nmrgcl.settings import load_preset

    options = options_class(name)
    hints = get_type_hints(options)
    used = {preset: load_preset(default_preset(name, level)) for level, preset in presets.items()}
    return [
        {
            "name": field.name,
            "default": field.default,
            "by_preset": {
                preset: value
                for preset, values in used.items()
                if (value := values.get(f"options.{field.name}", field.default)) != field.default
            },
            "choices": list(get_args(hints[field.name])) if get_origin(hints[field.name]) is Literal else [],
            "about": field.metadata.get("doc", ""),
        }
        for field in fields(options)
    ]
