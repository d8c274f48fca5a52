"""What a result was computed with: it travels with the result, because numbers may depend on it."""

import os
import platform
from pathlib import Path

import numpy as np
import scipy
import sklearn
import torch

from nmrgcl import __version__


def versions() -> dict[str, str]:
    """Of everything that takes part in a score."""
    return {
        "nmrgcl": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scipy": str(scipy.__version__),
        "scikit-learn": str(sklearn.__version__),
    }


def hardware(device: torch.device) -> dict[str, str | int]:
    """Processor, cores, and where the training was computed."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "device": name,
    }


def _processor() -> str:
    """The processor's own name where Linux tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except (OSError, UnicodeDecodeError):
        pass
    return platform.processor() or platform.machine()
