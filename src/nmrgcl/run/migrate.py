"""Results of version 1, whose keys named every setting, under today's keys: nothing is computed again."""

import copy
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.errors import DataError
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.cell import Cell
from nmrgcl.run.pack import read_pack, write_pack
from nmrgcl.run.results import RESULT, Result, Results, parse_result
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.settings.renamed import OPTIONS, RENAMED, renamed

OLD = RecordFormat(RESULT.name, 1, RESULT.what, limit=RESULT.limit)

OF_METHODS: dict[str, Any] = {
    "head": {"units": 0},
    "removal": {"kind": "non_maximum", "delta": 0.7, "where": "projection"},
    "loss": {"name": "infonce", "tau": 0.2, "decorrelate": 0.001, "beta": 0.6, "momentum": 0.8},
    "diffusion": {"name": "ppr", "alpha": 0.2, "time": 5.0, "keep": 32},
}
"""Settings of every method in version 1, whether it read them or not."""

SHARED = {
    "data": ("features", "max_degree", "scale"),
    "views": ("first", "second"),
    "encoder": ("name", "layers", "units", "pool", "activation", "activate_last", "dropout"),
    "train": (
        *("epochs", "batch_size", "lr", "patience", "least_gain", "precision", "deterministic", "capture"),
        *("chunk_graphs", "sampling", "hops", "fanout"),
    ),
    "svm": ("c", "inner", "standardise", "folds"),
    "linear": ("normalise",),
    "finetune": ("tune_epochs", "tune_lr", "weight_decay", "tune_patience"),
}
"""The others, which are those of today but for some names."""

FIXED = {
    "cca_ssg": {"loss.name": "cca"},
    "dgi": {"loss.name": "jsd"},
    "gca": {"loss.name": "infonce"},
    "grace": {"loss.name": "infonce"},
    "graphcl": {"loss.name": "graphcl"},
    "merit": {"loss.name": "merit"},
    "mvgrl": {"loss.name": "jsd"},
}
"""What these methods fixed, besides ``removal.kind`` = "none"."""

TEMPERATURES = (0.2, 0.1, 0.4)
"""That presets gave to the untrained encoder, which reads none."""


def old_keys(cell: Cell) -> list[str]:
    """Every key that version 1 may have given to ``cell``."""
    values = old_settings(cell.settings)
    found = []
    for tau in TEMPERATURES if cell.method == "untrained" else (values["loss"]["tau"],):
        plain = values | {"loss": values["loss"] | {"tau": tau}}
        names = ("dataset", "protocol", "selection", "split")
        found.append(old_key({name: getattr(cell, name) for name in names} | {"settings": plain}))
    return found


def old_settings(settings: Settings) -> dict[str, Any]:
    """Complete settings of version 1, with its defaults for what the method does not read."""
    today = dict(flatten(settings.to_dict()))
    old: dict[str, Any] = {name: today[name] for name in ("method", "seed", "level")} | copy.deepcopy(OF_METHODS)
    for group, names in SHARED.items():
        keys = {name: f"{group}.{name}" for name in names}
        old[group] = {name: today[RENAMED.get(key, key)] for name, key in keys.items()}
    fixed = FIXED.get(settings.method, {})
    if fixed:
        fixed = {"removal.kind": "none", **fixed}
    own = {key: today[f"options.{name}"] for key, name in OPTIONS.items() if f"options.{name}" in today}
    for key, value in (own | fixed).items():
        group, _, name = key.partition(".")
        old[group][name] = value
    return old


def old_key(cell: Mapping[str, Any]) -> str:
    """The key function of version 1."""
    text = json.dumps({"format": 1, "run": cell}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def upgraded(text: str | bytes, source: str) -> Result:
    """The result that this line of version 1, or of today, holds; DataError where it is damaged."""
    try:
        values = OLD.parse(text)
        if values.pop("key") != old_key(values["run"]):
            raise OLD.mismatch
        old = values.pop("run")
        cell = Cell.from_dict(old | {"settings": renamed(old["settings"])})
        result = Result(key=cell.key, named=cell.named(), settings=cell.settings.to_dict(), **values)
    except RecordError as error:
        if error.problem == "newer":
            return parse_result(text, source)
        raise DataError(f"{source}: damaged, {error}; remove it, or copy it again") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(f"{source}: damaged; remove it, or copy it again") from None
    return parse_result(result.to_json(), source)


def migrate_folder(folder: Path) -> tuple[int, int]:
    """Give every result in ``folder`` its key of today; returns how many there are, and how many had an old one."""
    results = Results(folder)
    files = [results.path(key, status) for status in ("done", "failed") for key in results.named(status)]
    changed = 0
    for path in files:
        result = upgraded(reading.read_bytes(path, RESULT.limit), str(path))
        if path != results.path(result.key, result.status):
            results.put(result)
            path.unlink()
            changed += 1
    return len(files), changed


def migrate_pack(path: Path) -> tuple[int, int]:
    """Likewise for a pack of results."""
    old = 0

    def parse(line: bytes, source: str) -> Result:
        nonlocal old
        found = upgraded(line, source)
        old += json.loads(line)["key"] != found.key
        return found

    found = read_pack(path, parse)
    if old:
        write_pack(path, found)
    return len(found), old
