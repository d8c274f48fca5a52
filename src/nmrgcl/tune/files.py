"""Files of a search: NAME.json with every score, NAME.toml with the settings, and a preset that collects the latter."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmrgcl import atomic, reading
from nmrgcl.errors import writing
from nmrgcl.evaluate.spread import with_spread
from nmrgcl.owned import require_group
from nmrgcl.settings import Settings, load_preset
from nmrgcl.settings.check import flatten
from nmrgcl.tune.found import INNER, TUNED, Found

OTHERS = "strong"
"""The preset that ``tuned`` uses for datasets without a search."""


def place_of(dataset: str, folder: Path) -> tuple[Path, Path]:
    """The paths ``folder/NAME.json`` and ``folder/NAME.toml``; SettingError if files of these names are not ours."""
    name = re.sub(r"[^\w.-]", "_", Path(dataset).name)
    record, preset = folder / f"{name}.json", folder / f"{name}.toml"
    require_group(record, TUNED.name, [preset])
    return record, preset


def write_found(found: Found, folder: Path) -> tuple[Path, Path]:
    """Write ``folder/NAME.json`` and ``folder/NAME.toml``; ``--config`` accepts the latter."""
    record, preset = place_of(found.search.dataset, folder)
    # The record comes first: without it, the other file would be refused as somebody else's.
    _write(record, _one_candidate_a_line(found.to_dict()))
    _write(preset, as_toml(found))
    return record, preset


def as_toml(found: Found) -> str:
    """The settings of the winner, below comments with its scores."""
    facts, winner = found.to_dict(), found.search.candidates[found.winner]
    best = f"best inside the training folds ({facts['candidates'][found.winner]['inner_mean']:.2f})"
    best = best if found.criterion == INNER else f"best by {found.criterion}, without labels"
    head = [
        f"{found.search.dataset}, {found.date}: {found.command}",
        f"nested choice {_pm(facts['nested'])} (honest), preset as it was {_pm(facts['preset'])}; judge:"
        f" {found.search.protocol}, {found.search.seeds} seeds",
        f"candidate {found.winner} of {len(found.search.candidates)}, {best};"
        f" {_pm(facts['winner'])} on the judged ones, which had a part in the choice",
    ]
    return "".join(f"# {line}\n" for line in head) + as_lines(worth_saying(winner.settings))


def gather_preset(folder: Path, preset: Path) -> None:
    """Combine all ``NAME.toml`` in ``folder`` into one preset with a table per dataset."""
    text = f"# Settings found by nmrgcl tune, by dataset (docs/tuning.md); for others, those of preset {OTHERS}.\n"
    # In TOML, keys outside of any table must come before the first table.
    text += as_lines(load_preset(OTHERS))
    for path in sorted(folder.glob("*.toml")):
        own = reading.read_text(path)
        comments = "".join(line for line in own.splitlines(keepends=True) if line.startswith("#"))
        text += f"\n{comments}[dataset.{toml_value(path.stem)}]\n{as_lines(dict(flatten(tomllib.loads(own))))}"
    _write(preset, text)


def worth_saying(settings: Settings) -> dict[str, Any]:
    """The settings that differ from the defaults or from the preset for other datasets, without the seed."""
    default, other = Settings(method=settings.method), Settings().updated(load_preset(OTHERS))
    own, usual, others = (dict(flatten(one.to_dict())) for one in (settings, default, other))
    # The other preset has the options of another method.
    return {k: v for k, v in own.items() if k != "seed" and (v != usual[k] or k not in others or v != others[k])}


def as_lines(values: Mapping[str, Any]) -> str:
    """TOML with one line ``key = value`` per setting."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items())


def toml_value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(part) for part in value) + "]"
    # JSON escapes characters beyond U+FFFF as surrogate pairs, which TOML forbids; DEL has to be escaped in TOML alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_candidate_a_line(values: dict[str, Any]) -> str:
    parts = {key: json.dumps(value) for key, value in values.items() if key != "candidates"}
    lines = ",\n".join("  " + json.dumps(candidate) for candidate in values["candidates"])
    head = "".join(f' "{key}": {text},\n' for key, text in parts.items())
    return "{\n" + head + ' "candidates": [\n' + lines + "\n ]\n}\n"


def _pm(scores: Mapping[str, Any]) -> str:
    return with_spread(scores["mean"], scores["std"])


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(path, text)
