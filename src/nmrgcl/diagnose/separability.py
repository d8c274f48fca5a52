"""Separation of classes in an embedding: ``z`` is ``[B, D]``, and ``y`` ``[B]`` holds any integers."""

from itertools import combinations

import torch
from torch import Tensor


def wasserstein(a: Tensor, b: Tensor) -> Tensor:
    """``[D]`` exact 1-Wasserstein distances between the samples ``a`` ``[m, D]`` and ``b`` ``[n, D]``, by dimension."""
    # In one dimension, W₁ is the area between the two distribution functions.
    values, order = torch.cat([a.double(), b.double()]).sort(0)
    step = torch.cat([a.new_full((len(a),), 1 / len(a)), b.new_full((len(b),), -1 / len(b))]).double()
    return (step[order].cumsum(0)[:-1].abs() * values.diff(dim=0)).sum(0)


def wasserstein_by_dimension(z: Tensor, y: Tensor) -> Tensor:
    """``[D]`` mean distance between two classes, in standard deviations of the dimension; 0 if it does not vary."""
    z = z.double()
    spread = z.std(0, correction=0)
    # The standard deviation of a constant column is its rounding error.
    varies = spread > 1e-12 * z.abs().amax(0)
    return torch.where(varies, _between_classes(z, y) / torch.where(varies, spread, 1.0), 0.0)


def sliced_wasserstein(z: Tensor, y: Tensor) -> float:
    """Mean distance between two classes along 128 random directions, over the root mean square spread along them."""
    z = z.double()
    generator = torch.Generator().manual_seed(0)
    axes = torch.randn(z.shape[1], 128, generator=generator, dtype=torch.float64).to(z.device)
    axes = axes / torch.linalg.vector_norm(axes, dim=0)
    # The expected variance along a random unit vector is the mean variance over dimensions.
    spread = (z.var(0, correction=0).mean()).sqrt()
    return float(_between_classes(z @ axes, y).mean() / spread) if spread > 0 else 0.0


def centroid_margins(z: Tensor, y: Tensor) -> Tensor:
    """``[B]`` ``(other − own) / (other + own)`` of the distances to the nearest other class mean and to the own one.

    Margins range from −1 to 1 and are positive if the nearest mean is the right one. A row is excluded from the mean
    of its own class, so the only row of a class has no margin (NaN).
    """
    z = z.double()
    _, code, count = torch.unique(y, return_inverse=True, return_counts=True)
    means = torch.zeros(len(count), z.shape[1], dtype=z.dtype, device=z.device).index_add_(0, code, z) / count[:, None]
    # By products of matrices, small distances between large vectors would cancel.
    distance = torch.cdist(z, means, compute_mode="donot_use_mm_for_euclid_dist")
    mine = count[code].double()
    # Excluding a row moves the mean away from it: z − mean' = (z − mean)·n/(n − 1).
    own = distance.gather(1, code[:, None]).squeeze(1) * mine / (mine - 1).clamp(min=1)
    other = distance.scatter(1, code[:, None], torch.inf).amin(1)
    total = own + other
    margin = torch.where(total > 0, (other - own) / torch.where(total > 0, total, 1.0), 0.0)
    return torch.where(mine > 1, margin, torch.nan)


def _between_classes(z: Tensor, y: Tensor) -> Tensor:
    """``[D]`` Wasserstein distances averaged over all pairs of classes."""
    groups = [z[y == label] for label in torch.unique(y)]
    return torch.stack([wasserstein(a, b) for a, b in combinations(groups, 2)]).mean(0)
