"""The Jensen–Shannon estimate of mutual information (DGI, Veličković et al. 2019; MVGRL, Hassani & Khasahmadi 2020)."""

from torch import Tensor
from torch.nn.functional import softplus


def jensen_shannon(joint: Tensor, apart: Tensor) -> Tensor:
    """Binary cross-entropy of scores ``joint`` of what belongs together and ``apart`` of what does not, any shapes."""
    total = softplus(-joint).sum() + softplus(apart).sum()
    return total / (joint.numel() + apart.numel())
