"""Binary cross-entropy of scores, where some of the places hold none."""

from torch import Tensor
from torch.nn.functional import softplus

from nmrgcl.contrast.cosine import widen


def belongs(scores: Tensor, chosen: Tensor) -> Tensor:
    """Mean of −log σ(score) over the ``chosen`` ones (bool, of the same shape): they belong together; 0 of none.

    ``belongs(-scores, chosen)`` is the mean of −log(1 − σ(score)): they do not.
    """
    return (softplus(-widen(scores)) * chosen).sum() / chosen.sum().clamp(min=1)
