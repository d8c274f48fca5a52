"""The machine: its device, its memory, and what a result records about it."""

import os
import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.metadata import version as installed_version
from pathlib import Path

import numpy as np
import torch

from nmrgcl import __version__
from nmrgcl.errors import SettingError
from nmrgcl.methods import Embedder, find_method
from nmrgcl.settings import Settings
from nmrgcl.settings.describe import method_options

RESUME = "then go on from the last checkpoint with --resume"
WIDE_UNITS = 64
"""The width from which matrix products gain from a second thread."""
MANY_NODES = 1000
"""The number of nodes from which they do."""
_TELLTALES = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory", "bad_alloc")


def choose_device(name: str) -> torch.device:
    """The device for ``auto``, ``cpu`` or ``cuda``; SettingError if it is not available."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingError(f"unknown device {name!r}; known: auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError("no CUDA device is available; set device to cpu or auto")
    cuda = name == "cuda" or (name == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def device_type(name: str) -> str:
    """``cpu`` or ``cuda`` for ``auto``; any other name is returned as it is, even if there is no such device."""
    return choose_device(name).type if name == "auto" else name


def cuda_is_unusable() -> bool:
    """True if an earlier error left the CUDA context of this process unusable."""
    if not torch.cuda.is_initialized():
        return False
    try:
        # Kernels run asynchronously; their errors show when the host waits for a value.
        torch.rand(1, device="cuda").item()
    except torch.OutOfMemoryError:  # Other processes may have filled the memory; the context itself still works.
        return False
    except RuntimeError:
        return True
    return False


def give_back_memory() -> None:
    """Release cached GPU memory so that other processes can use it."""
    if torch.cuda.is_initialized():
        with suppress(RuntimeError):  # The CUDA context may be unusable; that is reported elsewhere.
            torch.cuda.empty_cache()


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Run the block with ``count`` torch threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def suitable_threads(settings: Settings, nodes: int = MANY_NODES) -> AbstractContextManager[None]:
    """Use one thread for a narrow encoder or few nodes: more do not help, and on a busy machine they wait for another.

    Seconds per epoch on NCI1 with one and two threads: 0.52 and 0.57 for 3 × 32 units, 4.3 and 2.9 for 5 × 128 units;
    with 5 × 128 units on 712 nodes of MUTAG 0.045 and 0.12, on a busy machine 0.15 and 0.68.
    """
    return torch_threads(1) if settings.encoder.units < WIDE_UNITS or nodes < MANY_NODES else nullcontext()


def versions() -> dict[str, str]:
    """The versions of all software that can affect a score."""
    return {
        "nmrgcl": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scipy": installed_version("scipy"),  # scikit-learn and SciPy take a second to import
        "scikit-learn": installed_version("scikit-learn"),
    }


def hardware(device: torch.device) -> dict[str, str | int]:
    """Processor, number of cores and training device."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "device": name,
    }


def _processor() -> str:
    """The name of the processor model, which Linux gives in /proc/cpuinfo."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except (OSError, UnicodeDecodeError):
        pass
    return platform.processor() or platform.machine()


class OutOfMemoryError(SettingError):
    """There was not enough memory; a retry may succeed once other processes use less."""


@contextmanager
def explained(settings: Settings, then: str = RESUME) -> Iterator[None]:
    """Turn any out-of-memory error into one line that says which settings to lower and what to do ``then``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # On the CPU, torch reports missing memory as a plain RuntimeError.
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(sign in str(error).lower() for sign in _TELLTALES):
            raise
        if issubclass(find_method(settings.method), Embedder):  # It has no batches and no checkpoints.
            sizes = [one.key for one in method_options(settings.method) if one.values.startswith("whole number")]
            lower = ", ".join(key.removeprefix("options.") for key in sizes)
            rest = "" if then == RESUME else f", {then}"
            raise OutOfMemoryError(f"out of memory; use fewer graphs or lower one of {lower}{rest}") from None
        remedy = f"lower train.batch_size (it is {settings.train.batch_size}) or"
        if settings.level == "node" and settings.train.sampling == "none":
            remedy = "train on samples of the graph (train.sampling=walk) or lower"
        raise OutOfMemoryError(
            f"out of memory; {remedy} encoder.units (it is {settings.encoder.units}), {then}"
        ) from None
