"""Projection heads, which are used in pre-training and discarded afterwards."""

from torch import Tensor, nn

from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError
from nmrgcl.ops import across_ranks

FEWEST_ROWS = 2
"""Batch norm of a single row would return its bias, whatever the row."""


class Head(nn.Sequential):
    """Linear, ``activation``, Linear; as wide as its input unless ``units`` is given.

    Example:
        >>> import torch
        >>> from nmrgcl import Head
        >>> Head(96)(torch.zeros(5, 96)).shape, Head(96, 32)(torch.zeros(5, 96)).shape
        (torch.Size([5, 96]), torch.Size([5, 32]))
    """

    def __init__(self, width: int, units: int | None = None, activation: type[nn.Module] = nn.ReLU) -> None:
        units = units or width
        super().__init__(nn.Linear(width, units), activation(), nn.Linear(units, units))
        for module in self:
            if isinstance(module, nn.Linear):
                # As in GraphCL's code: Xavier-uniform weights, zero biases.
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, units]``."""
        out: Tensor = super().forward(r)
        return out


class NormedHead(nn.Sequential):
    """Linear maps to ``widths`` in turn, batch norm and ReLU between them; ``norm_last``: batch norm at the end too."""

    def __init__(self, width: int, *widths: int, norm_last: bool = False) -> None:
        parts: list[nn.Module] = []
        for before, after in zip((width, *widths), widths, strict=False):
            linear = nn.Linear(before, after)
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
            parts += [linear, MaskedBatchNorm(after), nn.ReLU()]
        super().__init__(*(parts[:-1] if norm_last else parts[:-2]))

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, widths[-1]]``."""
        if self.training and across_ranks.count_rows(r.shape[0]) < FEWEST_ROWS:
            raise SettingError("batch norm in the head needs at least two graphs in a batch; raise train.batch_size")
        out: Tensor = super().forward(r)
        return out


class ResidualHead(nn.Module):
    """Linear and ReLU three times, plus a linear map of the input; all have one width (InfoGraph, Sun et al. 2020)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.deep = nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(width, width), nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        for module in (*self.deep, self.shortcut):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, r: Tensor) -> Tensor:
        """``[B, width]`` to ``[B, width]``."""
        out: Tensor = self.deep(r) + self.shortcut(r)
        return out
