"""From names and files to graphs."""

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

_HOMES = {
    "CATALOG": "catalog",
    "Dataset": "dataset",
    "FeatureSpec": "features",
    "Split": "splits",
    "Statistics": "dataset",
    "apply_features": "features",
    "choose_features": "features",
    "load": "loading",
    "read_tu": "formats.tu",
    "split_nodes": "splits",
    "stratified_folds": "splits",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: the names of datasets cost no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nmrgcl.data' has no attribute {name!r}")
    return getattr(import_module(f"nmrgcl.data.{_HOMES[name]}"), name)
