"""The Jensen–Shannon estimate of mutual information (DGI, Veličković et al. 2019; MVGRL, Hassani & Khasahmadi 2020)."""

from torch import Tensor
from torch.nn.functional import softplus


def jensen_shannon(joint: Tensor, apart: Tensor) -> Tensor:
    """Binary cross-entropy: ``joint`` scores what belongs together, ``apart`` what does not; any shapes.

    Example:
        >>> import torch
        >>> from nmrgcl import jensen_shannon
        >>> jensen_shannon(torch.zeros(3), torch.zeros(3))  # both kinds of pairs look alike: log 2
        tensor(0.6931)
    """
    total = softplus(-joint).sum() + softplus(apart).sum()
    return total / (joint.numel() + apart.numel())
