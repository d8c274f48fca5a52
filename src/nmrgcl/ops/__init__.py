"""Operations that have several forms: one module each, with the plain form first and one function that chooses.

Triton kernels are in ``ops/triton``, under the name of their operation. Triton comes only with PyTorch's builds for
GPUs, so those modules are imported where a tensor lies on a GPU.
"""

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

SHORTEST = 1e-12
"""Rows no longer than this count as zero wherever rows are brought to unit length, in kernels and plain forms."""


def serve(tensor: Tensor) -> bool:
    """True if ``tensor`` lies on a GPU and Triton is installed to run kernels on it."""
    return tensor.is_cuda and has_triton()


@cache
def has_triton() -> bool:
    """True if Triton is installed, so that kernels can be compiled."""
    return find_spec("triton") is not None


def on_host(place: Tensor | torch.device) -> bool:
    """True if Python can read values there without waiting for a device, and shapes may depend on them."""
    return (place.device if isinstance(place, Tensor) else place).type == "cpu"


def full_precision(tensor: Tensor) -> torch.autocast:
    """A context without autocast: what is computed from ``tensor`` inside keeps the precision it has."""
    return torch.autocast(tensor.device.type, enabled=False)


def widen(z: Tensor) -> Tensor:
    """``z`` in float32, or in float64 if it is float64 already."""
    return z if z.dtype == torch.float64 else z.float()


def to_autocast(h: Tensor) -> Tensor:
    """``h`` in the precision that autocast computes in where ``h`` lies; unchanged if autocast is off there."""
    kind = h.device.type
    return h.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else h
