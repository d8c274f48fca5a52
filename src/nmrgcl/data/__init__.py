"""From names and files to graphs."""

from nmrgcl.data.catalog import CATALOG, load
from nmrgcl.data.dataset import Dataset, Statistics
from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
from nmrgcl.data.splits import stratified_folds
from nmrgcl.data.tu import read_tu

__all__ = [
    "CATALOG",
    "Dataset",
    "FeatureSpec",
    "Statistics",
    "apply_features",
    "choose_features",
    "load",
    "read_tu",
    "stratified_folds",
]
