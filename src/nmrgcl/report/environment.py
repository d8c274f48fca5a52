"""What a run was computed with, and the commands that compute it again."""

import os
import platform
import shlex
from pathlib import Path

import numpy as np
import torch

from nmrgcl import __version__
from nmrgcl.data.catalog import find
from nmrgcl.data.dataset import Dataset
from nmrgcl.report.collect import Facts


def versions() -> dict[str, str]:
    """Of the software that wrote the page."""
    return {
        "nmrgcl": __version__,
        "Python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }


def hardware(device: torch.device) -> dict[str, str]:
    """The machine that wrote the page."""
    facts = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": f"{_processor()}, {os.cpu_count()} logical cores",
        "device": device.type,
    }
    if device.type == "cuda":
        facts["device"] = f"cuda: {torch.cuda.get_device_name(device)}"
    return facts


def commands(facts: Facts, out: Path) -> list[str]:
    """Pre-training with the same settings and seeds into a new folder, judging it, and its report."""
    again, seeds, data = Path(f"{facts.run}-again"), facts.seeds, _data(facts.dataset)
    device = f"--device {facts.device.type}"
    config = shlex.quote(str(facts.folders[0] / "config.json"))
    count = seeds[-1] - seeds[0] + 1
    folder = shlex.quote(str(again))
    lines = [f"nmrgcl pretrain {data} --config {config} --seeds {count} {device} --out {folder}"]
    if facts.judgement is not None:
        folds = f" --seeds {len(facts.judgement.trained.folds)}" if facts.judgement.varied == "folds" else ""
        lines.append(f"nmrgcl evaluate {folder} {data}{folds} {device}")
    lines.append(f"nmrgcl report {folder} {data} {device} --out {shlex.quote(str(again / out.name))}")
    return lines


def _data(dataset: Dataset) -> str:
    known = dataset.name == "motifs" or find(dataset.name) is not None
    return shlex.quote(dataset.name if known else dataset.source or dataset.name)


def _processor() -> str:
    """The processor's own name where Linux tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except (OSError, UnicodeDecodeError):
        pass
    return platform.processor() or platform.machine()
