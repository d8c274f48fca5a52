"""Time and peak memory of InfoNCE and its gradient, compared with the plain matrix form.

The plain form holds the similarities of all rows at once, like most code. Ours does so for small batches only and
streams them in tiles for large ones.
"""

import sys
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from bench.memory import peak_bytes
from bench.table import Row
from bench.timing import in_turn, row, stopwatch
from nmrgcl.contrast import infonce
from nmrgcl.memory import available_bytes

SIZES = (512, 2048, 4096)
GPU_SIZES = (2048, 16_384)
COPIES = 6
"""How many matrices of all similarities the plain form may hold at a time."""


def loss_rows(sizes: Sequence[int] = (), *, units: int = 128, device: torch.device, repeats: int = 5) -> list[Row]:
    """Two rows per number of pairs; a note on standard error says if the plain form does not fit in memory."""
    rows = []
    for size in sizes or (SIZES if device.type == "cpu" else GPU_SIZES):
        works = {"ours": _work(infonce, size, units, device)}
        if COPIES * 4 * (2 * size) ** 2 < available_bytes(device):
            works["plain"] = _work(plain_infonce, size, units, device)
        else:
            print(f"note: N = {size}: the plain matrix form would not fit in memory", file=sys.stderr)
        seconds = in_turn({key: stopwatch(work, device) for key, work in works.items()}, repeats)
        bytes_held = {key: [float(peak_bytes(work, device))] for key, work in works.items()}
        name = f"N = {size}, D = {units}"
        rows.append(row(f"{name}: time, to plain", "ms", seconds["ours"], seconds.get("plain"), scale=1e3))
        rows.append(row(f"{name}: memory, to plain", "MB", bytes_held["ours"], bytes_held.get("plain"), scale=1e-6))
    return rows


def plain_infonce(z1: Tensor, z2: Tensor, *, tau: float = 0.2) -> Tensor:
    """Eq. 14 with the full ``[2N, 2N]`` matrix."""
    z = normalize(torch.cat([z1, z2]), eps=1e-12)
    similarity = z @ z.T / tau
    own = torch.eye(z1.shape[0], dtype=torch.bool, device=z.device).repeat(2, 2)
    positive = similarity.diagonal(z1.shape[0]).repeat(2)
    return -logsigmoid(positive - similarity.masked_fill(own, -torch.inf).logsumexp(1)).mean()


def _work(loss: Callable[[Tensor, Tensor], Tensor], size: int, units: int, device: torch.device) -> Callable[[], None]:
    generator = torch.Generator().manual_seed(0)
    z1, z2 = (torch.randn(size, units, generator=generator).to(device).requires_grad_() for _ in range(2))

    def work() -> None:
        loss(z1, z2).backward()
        z1.grad = z2.grad = None  # Freed here, so that the peak includes only what this call allocates.

    return work
