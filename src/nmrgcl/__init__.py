"""Self-supervised graph embeddings with non-maximum removal (nmrGCL, arXiv 2203.12821)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmrgcl.data.accept import as_dataset
    from nmrgcl.data.conversions import from_networkx, from_pyg, to_networkx, to_pyg
    from nmrgcl.data.loading import load
    from nmrgcl.errors import UserError
    from nmrgcl.estimator import GraphEmbedder
    from nmrgcl.graphs import Graphs

__version__ = "0.1.0"

__all__ = [
    "GraphEmbedder",
    "Graphs",
    "UserError",
    "as_dataset",
    "from_networkx",
    "from_pyg",
    "load",
    "to_networkx",
    "to_pyg",
]

_HOMES = {
    "GraphEmbedder": "nmrgcl.estimator",
    "Graphs": "nmrgcl.graphs",
    "UserError": "nmrgcl.errors",
    "as_dataset": "nmrgcl.data.accept",
    "from_networkx": "nmrgcl.data.conversions",
    "from_pyg": "nmrgcl.data.conversions",
    "load": "nmrgcl.data.loading",
    "to_networkx": "nmrgcl.data.conversions",
    "to_pyg": "nmrgcl.data.conversions",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: importing the package costs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nmrgcl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
