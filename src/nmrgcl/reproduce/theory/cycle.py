"""Cycle graphs through one graph convolution without activation and mean pooling (Eq. 4): Sec. 3.1's setting."""

import torch
from torch import Tensor


def node_weights(keep: Tensor) -> Tensor:
    """``[T, N]`` how much of each node's feature is in the embedding of a view that keeps ``keep`` ``[T, N]``.

    Row t is ``1ᵀÃ / |kept|`` with ``Ã = D^{-1/2}(A + I)D^{-1/2}`` and D counted without the self-loop, at least 1, as
    in the paper's five-node example.
    """
    kept = keep.double()
    return _weights(kept, (kept * (kept.roll(1, 1) + kept.roll(-1, 1))).clamp(min=1))


def node_weights_renormalised(keep: Tensor) -> Tensor:
    """The same with the degree of A + I, as encoders have it (Kipf & Welling 2017)."""
    kept = keep.double()
    return _weights(kept, 1 + kept.roll(1, 1) + kept.roll(-1, 1))


def _weights(kept: Tensor, degree: Tensor) -> Tensor:
    before, after, root = kept.roll(1, 1), kept.roll(-1, 1), degree.rsqrt()
    sums = root * (root + before * root.roll(1, 1) + after * root.roll(-1, 1))
    return kept * sums / kept.sum(1, keepdim=True).clamp(min=1)


def drop_nodes(trials: int, nodes: int, p: float, generator: torch.Generator) -> Tensor:
    """``[T, N]`` nodes kept when each is dropped with probability ``p``; a graph always keeps at least one."""
    draw = torch.rand(trials, nodes, generator=generator)
    return draw >= draw.amax(1, keepdim=True).clamp(max=p)


def view_similarity(
    nodes: int, p: float, features: int, q: float, *, trials: int, generator: torch.Generator, units: int = 64
) -> Tensor:
    """``[≤ T]`` cosines of two views of a cycle whose features are Bernoulli(``q``), through a random encoder.

    Trials in which a view has no feature at all have no cosine and are left out.
    """
    first, second = (node_weights(drop_nodes(trials, nodes, p, generator)) for _ in range(2))
    x = (torch.rand(trials, nodes, features, generator=generator) < q).double()
    weight = torch.randn(trials, features, units, generator=generator, dtype=torch.float64)
    z1, z2 = ((view[:, None] @ x @ weight).squeeze(1) for view in (first, second))
    length = z1.norm(dim=1) * z2.norm(dim=1)
    return ((z1 * z2).sum(1) / length)[length > 0]
