"""The commands that reproduce a run."""

import shlex
from pathlib import Path

from nmrgcl.data.catalog import find
from nmrgcl.data.dataset import Dataset
from nmrgcl.report.collect import Facts


def commands(facts: Facts, out: Path) -> list[str]:
    """Commands that pre-train with the same settings and seeds into a new folder, evaluate it, and write its report."""
    again, seeds, data = Path(f"{facts.run}-again"), facts.seeds, _data(facts.dataset)
    device = f"--device {facts.device.type}"
    config = shlex.quote(str(facts.folders[0] / "config.json"))
    count = seeds[-1] - seeds[0] + 1
    folder = shlex.quote(str(again))
    lines = [f"nmrgcl pretrain {data} --config {config} --seeds {count} {device} --out {folder}"]
    if facts.evaluation is not None:
        folds = f" --seeds {len(facts.evaluation.trained.folds)}" if facts.evaluation.varied == "folds" else ""
        lines.append(f"nmrgcl evaluate {folder} {data}{folds} {device}")
    lines.append(f"nmrgcl report {folder} {data} {device} --out {shlex.quote(str(again / out.name))}")
    return lines


def _data(dataset: Dataset) -> str:
    known = dataset.name == "motifs" or find(dataset.name) is not None
    return shlex.quote(dataset.name if known else dataset.source or dataset.name)
