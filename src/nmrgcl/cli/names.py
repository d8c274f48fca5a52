"""Refuse misspelt names before a command loads torch, which takes seconds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmrgcl.errors import SettingError

DATASETS = ("pretrain", "evaluate", "report", "compare", "sweep", "tune", "info", "finetune", "embed")
"""The commands whose DATA is a dataset."""
RUNS = ("evaluate", "report", "compare", "view", "embed", "export", "diagnose")
"""The commands whose arguments are runs or models."""
PROTOCOLS = ("evaluate", "compare")
"""The commands that accept only the settings of protocols."""
DEVICES = ("auto", "cpu", "cuda")


def require_names(command: str, given: Mapping[str, Any]) -> None:
    """Refuse the arguments of a command, by parameter, if a dataset, run, preset, method or setting is unknown."""
    from nmrgcl.settings import require_known, require_protocol_keys
    from nmrgcl.settings.sources import read_assignments

    if given.get("device", "auto") not in DEVICES:
        raise SettingError(f"unknown device {given['device']!r}; known: {', '.join(DEVICES)}")
    assignments = given.get("assignments") or ()
    if command in PROTOCOLS:
        require_protocol_keys(read_assignments(assignments))
    else:
        config = given.get("config") if command == "pretrain" else None
        require_known(_several(given.get("method")), given.get("preset") or None, config, assignments)
    if command in RUNS:
        from nmrgcl.run.bundled import model_path
        from nmrgcl.run.model_folders import find_models

        for run in _runs(command, given):
            find_models(model_path(run))
    if command in DATASETS:
        from nmrgcl.data.catalog import require_name

        for name in _several(_data_of_embed(given) if command == "embed" else given.get("data")):
            require_name(name)


def _runs(command: str, given: Mapping[str, Any]) -> list[Path | str]:
    """The arguments that must be runs or models: not the molecules of ``embed``, nor files of embeddings."""
    if command == "embed":
        return [] if given.get("second") is None else [given["first"]]
    named = [str(run) for run in _several(given.get("run", given.get("runs", given.get("model"))))]
    if command == "view":  # A run that trains its first model holds none yet.
        return [run for run in named if not Path(run).is_dir()]
    files = command in ("evaluate", "diagnose")
    return [run for run in named if not (files and Path(run).suffix and not Path(run).is_dir())]


def _data_of_embed(given: Mapping[str, Any]) -> str | None:
    """The data to embed, which is the only argument if it is molecules for the bundled encoder."""
    from nmrgcl.run.bundled import BUNDLED

    first, second = given.get("first"), given.get("second")
    if first is None or second is not None:
        return second
    if first == BUNDLED or any((Path(first) / name).exists() for name in ("config.json", "run.json")):
        raise SettingError(f"embed: {first} is a model, but DATA is missing; pass a dataset or a file after it")
    return str(first)


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else [value]
