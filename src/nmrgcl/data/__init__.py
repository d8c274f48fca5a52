"""Load datasets by name, from files, or from objects of other libraries."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmrgcl.data.catalog import CATALOG
    from nmrgcl.data.dataset import Dataset, Statistics
    from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
    from nmrgcl.data.formats.tu import read_tu
    from nmrgcl.data.loading import load
    from nmrgcl.data.splits import Split, split_nodes, stratified_folds

__all__ = [
    "CATALOG",
    "Dataset",
    "FeatureSpec",
    "Split",
    "Statistics",
    "apply_features",
    "choose_features",
    "load",
    "read_tu",
    "split_nodes",
    "stratified_folds",
]

_MODULES = {
    "catalog": ("CATALOG",),
    "dataset": ("Dataset", "Statistics"),
    "features": ("FeatureSpec", "apply_features", "choose_features"),
    "formats.tu": ("read_tu",),
    "loading": ("load",),
    "splits": ("Split", "split_nodes", "stratified_folds"),
}


def __getattr__(name: str) -> Any:
    """Import lazily, so that shell completion can list the datasets without loading torch."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"nmrgcl.data.{module}"), name)
    raise AttributeError(f"module 'nmrgcl.data' has no attribute {name!r}")
