"""Memory that does not suffice, told in terms of settings."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from nmrgcl.errors import SettingError
from nmrgcl.settings import Settings

_TELLTALES = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory", "bad_alloc")


@contextmanager
def explained(settings: Settings) -> Iterator[None]:
    """Turn every way of running out of memory into a line that names what to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(sign in str(error).lower() for sign in _TELLTALES):
            raise
        remedy = f"lower train.batch_size (it is {settings.train.batch_size}) or"
        if settings.level == "node" and settings.train.sampling == "none":
            remedy = "train on samples of the graph (train.sampling=walk) or lower"
        raise SettingError(
            f"out of memory; {remedy} encoder.units (it is {settings.encoder.units}), then go on from the last "
            "checkpoint with --resume"
        ) from None
