"""Adam of ``torch.optim`` without ``torch._dynamo``, whose import takes longer than many trainings.

The methods of an optimiser are wrapped for ``torch.compile``, and the wrappers import ``torch._dynamo`` when they are
first called. The functions that they wrap compute the same without it.
"""

from inspect import unwrap

import torch
from torch.optim import Optimizer


class _Plain(Optimizer):
    add_param_group = unwrap(Optimizer.add_param_group)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    state_dict = unwrap(Optimizer.state_dict)
    zero_grad = unwrap(Optimizer.zero_grad)


class Adam(_Plain, torch.optim.Adam):
    """``torch.optim.Adam``, bit for bit."""

    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class SparseAdam(_Plain, torch.optim.SparseAdam):
    """``torch.optim.SparseAdam``, bit for bit."""

    step = torch.no_grad()(unwrap(torch.optim.SparseAdam.step))
