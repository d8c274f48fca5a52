"""Available memory, and checks that something fits into it."""

from pathlib import Path

import torch

from nmrgcl.errors import DataError


def available_bytes(device: torch.device) -> int:
    """Return the memory that is available now; 4 GB if the system does not tell."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # free in torch's own cache
        return torch.cuda.mem_get_info(device)[0] + kept
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 4 * 10**9


def require_bytes(needed: float, what: str, remedy: str) -> None:
    """Raise DataError, with a ``remedy``, if ``what`` needs more host memory than is available."""
    left = available_bytes(torch.device("cpu"))
    if needed > left:
        raise DataError(f"{what} need {needed / 1e9:,.1f} GB of memory, but {left / 1e9:,.1f} GB are left; {remedy}")
