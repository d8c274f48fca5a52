"""Refuse misspelt names before a command loads torch, which takes seconds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmrgcl.errors import SettingError

DATASETS = ("pretrain", "evaluate", "report", "compare", "sweep", "tune", "info")
"""The commands whose DATA is a dataset."""
RUNS = ("evaluate", "report", "compare")
"""The commands whose arguments are runs."""
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
        from nmrgcl.run.model_folders import find_models

        for run in map(Path, _several(given.get("run", given.get("runs")))):  # some versions of typer pass text
            if not (run.suffix and command == "evaluate" and not run.is_dir()):  # a file of embeddings
                find_models(run)
    if command in DATASETS:
        from nmrgcl.data.catalog import require_name

        for name in _several(given.get("data")):
            require_name(name)


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else [value]
