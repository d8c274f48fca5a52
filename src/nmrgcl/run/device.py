"""Where a run computes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from nmrgcl.errors import SettingError
from nmrgcl.settings import Settings

WIDE_UNITS = 64
"""From this width on a matrix product is worth a second thread."""


def choose_device(name: str) -> torch.device:
    """``auto``, ``cpu`` or ``cuda`` as a device that is there."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingError(f"unknown device {name!r}; known: auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError("no CUDA device is available; use --device cpu or --device auto")
    cuda = name == "cuda" or (name == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def spoilt() -> bool:
    """Whether CUDA computes no more in this process, as after some of its errors, until the process ends."""
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
        with suppress(RuntimeError):  # a GPU that is of no use any more; others tell of that
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
