"""The precision of matrix products in a training."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

Precision = Literal["float32", "tf32", "bf16"]


@contextmanager
def matrix_precision(precision: Precision, device: torch.device) -> Iterator[None]:
    """Multiply matrices in this precision inside the block, and as before after it; weights stay float32.

    tf32 rounds the factors of float32 products, bf16 also their results. Inside the block autocast keeps bfloat16
    copies of the weights: end it, or call ``torch.clear_autocast_cache``, after every step that changes them.

    On a CPU, tf32 lets oneDNN multiply. Unless the processor has tiles for matrices (AMX), that is float32 all the
    same, but on an AMD EPYC twice as fast as the library that PyTorch takes otherwise.
    """
    matmuls: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    named = [(one, one.fp32_precision) for one in matmuls if hasattr(one, "fp32_precision")]
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # it has been set by PyTorch's newer names alone, which `named` holds
        before = "highest"
    torch.set_float32_matmul_precision("highest" if precision == "float32" else "medium")
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
        for one, value in named:
            one.fp32_precision = value


def cpu_multiplies_bfloat16() -> bool:
    """Whether this processor has instructions for products of bfloat16 matrices; without them, float32 is faster.

    770 rows of 300 and 600 units on one core with AVX-512: 478 GFLOP/s in bfloat16, 108 in float32.
    """
    if not hasattr(torch.cpu, "get_capabilities"):  # older versions of torch cannot tell
        return False
    known = torch.cpu.get_capabilities()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))
