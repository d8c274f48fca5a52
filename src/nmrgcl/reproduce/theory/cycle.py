"""The setting of Sec. 3.1: one graph convolution without activation and mean pooling (Eq. 4) on cycle graphs."""

import torch
from torch import Tensor


def node_weights(keep: Tensor) -> Tensor:
    """The weight ``[T, N]`` of each node's feature in the embedding of a view that keeps the nodes ``keep`` ``[T, N]``.

    Row t is ``1ᵀÃ / |kept|`` with ``Ã = D^{-1/2}(A + I)D^{-1/2}``, where D does not count the self-loop and is at least
    1, as in the paper's five-node example.
    """
    kept = keep.double()
    # `roll` wraps around, as a cycle does.
    return _weights(kept, (kept * (kept.roll(1, 1) + kept.roll(-1, 1))).clamp(min=1))


def node_weights_renormalised(keep: Tensor) -> Tensor:
    """``node_weights`` with the degrees of A + I, as in encoders (Kipf & Welling 2017)."""
    kept = keep.double()
    return _weights(kept, 1 + kept.roll(1, 1) + kept.roll(-1, 1))


def _weights(kept: Tensor, degree: Tensor) -> Tensor:
    before, after, root = kept.roll(1, 1), kept.roll(-1, 1), degree.rsqrt()
    sums = root * (root + before * root.roll(1, 1) + after * root.roll(-1, 1))
    return kept * sums / kept.sum(1, keepdim=True).clamp(min=1)


def drop_nodes(trials: int, nodes: int, p: float, generator: torch.Generator) -> Tensor:
    """``[T, N]`` which nodes are kept if each is dropped with probability ``p``; at least one is always kept."""
    draw = torch.rand(trials, nodes, generator=generator)
    # If every draw is below p, the largest becomes the threshold, so that its node stays.
    return draw >= draw.amax(1, keepdim=True).clamp(max=p)


def view_similarity(
    nodes: int, p: float, features: int, q: float, *, trials: int, generator: torch.Generator
) -> Tensor:
    """Cosines ``[≤ T]`` of two views of a cycle with Bernoulli(``q``) features, embedded by a random encoder.

    The encoder has 64 outputs. Trials in which all features of a view are zero have no cosine and are left out.
    """
    first, second = (node_weights(drop_nodes(trials, nodes, p, generator)) for _ in range(2))
    x = (torch.rand(trials, nodes, features, generator=generator) < q).double()
    weight = torch.randn(trials, features, 64, generator=generator, dtype=torch.float64)
    z1, z2 = ((view[:, None] @ x @ weight).squeeze(1) for view in (first, second))
    length = z1.norm(dim=1) * z2.norm(dim=1)
    return ((z1 * z2).sum(1) / length)[length > 0]
