"""Triton kernels for what would be many launches, or a matrix too large, in PyTorch; each caller keeps the plain form.

Triton comes with PyTorch's builds for GPUs only, so the modules here are imported where a tensor lies on one.
"""

from functools import cache
from importlib.util import find_spec

from torch import Tensor

SHORTEST = 1e-12
"""Rows no longer than this count as zero wherever rows are brought to unit length, in kernels and plain forms."""


def serve(tensor: Tensor) -> bool:
    """Whether ``tensor`` lies on a GPU and Triton is there to run kernels on it."""
    return tensor.is_cuda and has_triton()


@cache
def has_triton() -> bool:
    """Whether kernels can be compiled at all."""
    return find_spec("triton") is not None
