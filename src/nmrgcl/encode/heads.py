"""Projection heads: used while pre-training, thrown away after."""

from torch import nn


class Head(nn.Sequential):
    """Linear, ``activation``, Linear; as wide as its input unless ``units`` says otherwise."""

    def __init__(self, width: int, units: int | None = None, activation: type[nn.Module] = nn.ReLU) -> None:
        units = units or width
        super().__init__(nn.Linear(width, units), activation(), nn.Linear(units, units))
        for module in self:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
