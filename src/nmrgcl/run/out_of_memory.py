"""Memory that does not suffice, told in terms of settings."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from nmrgcl.errors import SettingError
from nmrgcl.settings import Settings

_TELLTALES = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory", "bad_alloc")


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
