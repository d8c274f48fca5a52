"""From names and files to graphs."""

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
