"""InfoNCE against the plain matrix form: time and peak memory of the loss and its gradient.

The plain form holds the similarities of all rows at once, as most code does. Ours does so for small batches and
streams them in tiles for large ones.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from nmrgcl.bench.memory import available_bytes, peak_bytes
from nmrgcl.bench.table import Row
from nmrgcl.bench.timing import in_turn, row, stopwatch
from nmrgcl.contrast import infonce

SIZES = (512, 2048, 4096)
GPU_SIZES = (2048, 16_384)
COPIES = 6
"""Matrices of all similarities that the plain form may hold at a time."""


def loss_rows(
    sizes: Sequence[int] = (), *, units: int = 128, device: torch.device, repeats: int = 5
) -> tuple[list[Row], list[str]]:
    """Two rows for each number of pairs, and notes about peers that were left out."""
    rows, notes = [], []
    for size in sizes or (SIZES if device.type == "cpu" else GPU_SIZES):
        works = {"ours": _work(infonce, size, units, device)}
        if COPIES * 4 * (2 * size) ** 2 < available_bytes(device):
            works["plain"] = _work(plain_infonce, size, units, device)
        else:
            notes.append(f"N = {size}: the plain matrix form would not fit in memory")
        seconds = in_turn({key: stopwatch(work, device) for key, work in works.items()}, repeats)
        bytes_held = {key: [float(peak_bytes(work, device))] for key, work in works.items()}
        name = f"N = {size}, D = {units}"
        rows.append(row(f"{name}: time, to plain", "ms", seconds["ours"], seconds.get("plain"), scale=1e3))
        rows.append(row(f"{name}: memory, to plain", "MB", bytes_held["ours"], bytes_held.get("plain"), scale=1e-6))
    return rows, notes


def plain_infonce(z1: Tensor, z2: Tensor, *, tau: float = 0.2) -> Tensor:
    """Eq. 14 by way of the ``[2N, 2N]`` matrix."""
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
        z1.grad = z2.grad = None  # here and not before, so that all that is held was allocated within

    return work
