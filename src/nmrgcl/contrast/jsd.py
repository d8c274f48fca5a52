"""The Jensen–Shannon estimate of mutual information (DGI, Veličković et al. 2019; MVGRL, Hassani & Khasahmadi 2020)."""

from torch import Tensor
from torch.nn.functional import softplus


def jensen_shannon(joint: Tensor, apart: Tensor) -> Tensor:
    """Binary cross-entropy: ``joint`` scores what belongs together, ``apart`` what does not; any shapes."""
    total = softplus(-joint).sum() + softplus(apart).sum()
    return total / (joint.numel() + apart.numel())
