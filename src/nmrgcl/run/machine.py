"""The machine that computes: its device, its memory, and what a result records of it."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import scipy
import sklearn
import torch

from nmrgcl import __version__
from nmrgcl.errors import SettingError
from nmrgcl.settings import Settings

WIDE_UNITS = 64
"""From this width on a matrix product is worth a second thread."""
_TELLTALES = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory", "bad_alloc")


def choose_device(name: str) -> torch.device:
    """``auto``, ``cpu`` or ``cuda`` as a device that is there."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingError(f"unknown device {name!r}; known: auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError("no CUDA device is available; set device to cpu or auto")
    cuda = name == "cuda" or (name == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def spoilt() -> bool:
    """True if an earlier error left the CUDA context of this process unusable."""
    if not torch.cuda.is_initialized():
        return False
    try:
        torch.rand(1, device="cuda").item()
    except torch.OutOfMemoryError:  # others may have filled it; that passes
        return False
    except RuntimeError:
        return True
    return False


def give_back_memory() -> None:
    """What this process holds of a GPU's memory without using it, others may have."""
    if torch.cuda.is_initialized():
        with suppress(RuntimeError):  # The CUDA context may be unusable; that is reported elsewhere.
            torch.cuda.empty_cache()


@contextmanager
def suitable_threads(settings: Settings) -> Iterator[None]:
    """One thread for a narrow encoder: a second one gains nothing there and, on a busy machine, waits.

    NCI1, seconds an epoch on one and two threads: 3 × 32 units 0.52 and 0.57, 5 × 128 units 4.3 and 2.9.
    """
    threads = torch.get_num_threads()
    if settings.encoder.units < WIDE_UNITS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


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


class OutOfMemoryError(SettingError):
    """Memory did not suffice; where others take a part of it, it may later."""


@contextmanager
def explained(settings: Settings, then: str = "then go on from the last checkpoint with --resume") -> Iterator[None]:
    """Turn every way of running out of memory into a line that names what to lower, and what to do ``then``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(sign in str(error).lower() for sign in _TELLTALES):
            raise
        remedy = f"lower train.batch_size (it is {settings.train.batch_size}) or"
        if settings.level == "node" and settings.train.sampling == "none":
            remedy = "train on samples of the graph (train.sampling=walk) or lower"
        raise OutOfMemoryError(
            f"out of memory; {remedy} encoder.units (it is {settings.encoder.units}), {then}"
        ) from None
