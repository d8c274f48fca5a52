"""Format the descriptions of methods for the terminal."""

from collections.abc import Sequence
from typing import Any

from nmrgcl.cli.terminal import TOGETHER, hanging

RECORDED = {
    True: "Yes: on a GPU, steps are replayed as a CUDA graph.",
    False: "No: its steps wait for the host or depend on Python values, such as the epoch.",
    None: "No: it is fitted directly, without steps.",
}
"""Whether steps can be recorded, in words."""
OTHERS = "other"
"""The family of methods that do not state one."""


def several_methods(rows: Sequence[dict[str, Any]]) -> str:
    """List the methods, one line each, by family."""
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for family in sorted({row["family"] or OTHERS for row in rows}):
        lines.append(family)
        for row in rows:
            if (row["family"] or OTHERS) == family:
                embeds = " and ".join(f"{level}s" for level in row["presets"])
                lines.append(hanging(f"  {row['name']:<{width}}  {embeds:<16}  ", row["summary"]))
    return "\n".join(lines)


def one_method(facts: dict[str, Any]) -> str:
    """Describe a method, with its options last."""
    presets = sorted({*facts["presets"].values(), *facts["presets_for_it"]})
    parts = {
        "family": [facts["family"]],
        "embeds": [", ".join(f"{level}s (preset {preset})" for level, preset in facts["presets"].items())],
        "presets": [", ".join(presets)],
        "always": [", ".join(f"{key} = {value}" for key, value in facts["fixed"].items())],
        "trains": [facts["trains"]],
        "recorded": [RECORDED[facts["recorded"]]],
        "paper": [facts["paper"]],
        "published": [facts["published"], *published_figures(facts["figures"])],
        "checked": [facts["checked"]],
    }
    lines = [hanging("", f"{facts['name']}: {facts['summary']}")]
    for name, texts in parts.items():
        said = [text for text in texts if text]
        lines += [hanging(f"{name if not number else '':<11}", text) for number, text in enumerate(said)]
    return "\n".join([*lines, *_options(facts["options"])])


def published_figures(figures: Sequence[dict[str, Any]]) -> list[str]:
    """Return one text per source and split."""
    from nmrgcl.evaluate.spread import with_spread  # loads NumPy, which a list of methods does not need

    groups: dict[str, list[str]] = {}
    for one in figures:
        source = f"{one['source']}; split {one['split']}" if one["split"] else one["source"]
        value = f"< {one['below']}" if one["mean"] is None else with_spread(one["mean"], one["std"])
        groups.setdefault(source, []).append(f"{one['dataset']} {value}".replace(" ", TOGETHER))
    return [f"{source}: {', '.join(values)}" for source, values in groups.items()]


def _options(options: Sequence[dict[str, Any]]) -> list[str]:
    if not options:
        return ["no options of its own"]
    names, defaults = (max(len(str(option[key])) for option in options) for key in ("name", "default"))
    lines = ["options, set with --set NAME=VALUE:"]
    for option in options:
        about = (
            f"{option['about']} ({', '.join(map(str, option['choices']))})" if option["choices"] else option["about"]
        )
        about += "".join(f"; {value} in preset {preset}" for preset, value in option["by_preset"].items())
        start = f"  {option['name']:<{names}}  {option['default']!s:<{defaults}}  "
        lines.append(hanging(start, about))
    return lines
