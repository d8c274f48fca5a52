"""Binary cross-entropy of some of the scores in a tensor."""

from torch import Tensor
from torch.nn.functional import softplus

from nmrgcl.ops import across_ranks, widen


def belongs(scores: Tensor, chosen: Tensor) -> Tensor:
    """Mean of −log σ(score) over the ``chosen`` ones (bool, same shape), which belong together; 0 if none is chosen.

    ``belongs(-scores, chosen)`` is the mean of −log(1 − σ(score)), for scores of what does not belong together.
    """
    # Multiplied by the choice rather than selected, so that shapes do not depend on the draw.
    return across_ranks.ratio((softplus(-widen(scores)) * chosen).sum(), chosen.sum())
