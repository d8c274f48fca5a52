"""Activations that settings name."""

from collections.abc import Callable

from torch import Tensor, nn

from nmrgcl.errors import SettingError, nearest
from nmrgcl.ops.dropout import dropout
from nmrgcl.sparse_rows import is_sparse, with_values

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": nn.RReLU, "elu": nn.ELU}


def build_activation(name: str) -> nn.Module:
    """The activation called ``name``."""
    if name not in ACTIVATIONS:
        raise SettingError(f"unknown encoder.activation {name!r}; {nearest(name, ACTIVATIONS)}")
    return ACTIVATIONS[name]()


def drop_out(h: Tensor, p: float, *, training: bool) -> Tensor:
    """Dropout of features, dense or sparse, or of embeddings; categories have no values to drop."""
    if p == 0 or not training or not h.is_floating_point():
        return h
    return with_values(h, dropout(h.values(), p)) if is_sparse(h) else dropout(h, p)
