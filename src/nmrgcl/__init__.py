"""Self-supervised graph embeddings with non-maximum removal (nmrGCL, arXiv 2203.12821)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmrgcl.augment import (
        AddEdges,
        Compose,
        DropCentralEdgesLess,
        DropEdges,
        DropFeatures,
        DropNodes,
        Identity,
        MaskCentralFeaturesLess,
        MaskFeatures,
        OneOf,
        ShuffleNodes,
        Subgraph,
        View,
        build_view,
    )
    from nmrgcl.classifier import GraphClassifier
    from nmrgcl.contrast import (
        cca_loss,
        cosine,
        graphcl_loss,
        infonce,
        jensen_shannon,
        merit_loss,
        non_maximum,
        removal_masks,
        remove,
    )
    from nmrgcl.data.accept import as_dataset
    from nmrgcl.data.conversions import from_networkx, from_pyg, to_networkx, to_pyg
    from nmrgcl.data.features import apply_features, choose_features
    from nmrgcl.data.loading import load
    from nmrgcl.data.splits import split_nodes
    from nmrgcl.diagnose.collapse import effective_rank, singular_spectrum
    from nmrgcl.diagnose.measure import measure
    from nmrgcl.encode import GAT, GCN, GIN, Head, MoleculeGIN, build_encoder
    from nmrgcl.encode.pool import pool
    from nmrgcl.encode.teacher import Teacher
    from nmrgcl.errors import UserError
    from nmrgcl.estimator import GraphEmbedder
    from nmrgcl.evaluate.kernel_svm import kernel_nested
    from nmrgcl.evaluate.linear import linear_score
    from nmrgcl.evaluate.lssvm import lssvm_scores
    from nmrgcl.evaluate.svm import svm_scores
    from nmrgcl.graphs import Graphs
    from nmrgcl.methods import Embedder, Method, Pretraining, build_method, find_method, method_names
    from nmrgcl.molecule_embedder import MoleculeEmbedder
    from nmrgcl.run.recipe import recipe as resolve
    from nmrgcl.settings import Settings, setting
    from nmrgcl.trackers import tracked
    from nmrgcl.train import Epoch, Optimiser, Progress, pretrain

__version__ = "0.1.0"

_HOMES = {
    "GAT": "nmrgcl.encode",
    "GCN": "nmrgcl.encode",
    "GIN": "nmrgcl.encode",
    "AddEdges": "nmrgcl.augment",
    "Compose": "nmrgcl.augment",
    "DropCentralEdgesLess": "nmrgcl.augment",
    "DropEdges": "nmrgcl.augment",
    "DropFeatures": "nmrgcl.augment",
    "DropNodes": "nmrgcl.augment",
    "Embedder": "nmrgcl.methods",
    "Epoch": "nmrgcl.train",
    "GraphClassifier": "nmrgcl.classifier",
    "GraphEmbedder": "nmrgcl.estimator",
    "Graphs": "nmrgcl.graphs",
    "Head": "nmrgcl.encode",
    "Identity": "nmrgcl.augment",
    "MaskCentralFeaturesLess": "nmrgcl.augment",
    "MaskFeatures": "nmrgcl.augment",
    "Method": "nmrgcl.methods",
    "MoleculeEmbedder": "nmrgcl.molecule_embedder",
    "MoleculeGIN": "nmrgcl.encode",
    "OneOf": "nmrgcl.augment",
    "Optimiser": "nmrgcl.train",
    "Pretraining": "nmrgcl.methods",
    "Progress": "nmrgcl.train",
    "Settings": "nmrgcl.settings",
    "ShuffleNodes": "nmrgcl.augment",
    "Subgraph": "nmrgcl.augment",
    "Teacher": "nmrgcl.encode.teacher",
    "UserError": "nmrgcl.errors",
    "View": "nmrgcl.augment",
    "apply_features": "nmrgcl.data.features",
    "as_dataset": "nmrgcl.data.accept",
    "build_encoder": "nmrgcl.encode",
    "build_method": "nmrgcl.methods",
    "build_view": "nmrgcl.augment",
    "cca_loss": "nmrgcl.contrast",
    "choose_features": "nmrgcl.data.features",
    "cosine": "nmrgcl.contrast",
    "effective_rank": "nmrgcl.diagnose.collapse",
    "find_method": "nmrgcl.methods",
    "from_networkx": "nmrgcl.data.conversions",
    "from_pyg": "nmrgcl.data.conversions",
    "graphcl_loss": "nmrgcl.contrast",
    "infonce": "nmrgcl.contrast",
    "jensen_shannon": "nmrgcl.contrast",
    "kernel_nested": "nmrgcl.evaluate.kernel_svm",
    "linear_score": "nmrgcl.evaluate.linear",
    "load": "nmrgcl.data.loading",
    "lssvm_scores": "nmrgcl.evaluate.lssvm",
    "measure": "nmrgcl.diagnose.measure",
    "merit_loss": "nmrgcl.contrast",
    "method_names": "nmrgcl.methods",
    "non_maximum": "nmrgcl.contrast",
    "pool": "nmrgcl.encode.pool",
    "pretrain": "nmrgcl.train",
    "removal_masks": "nmrgcl.contrast",
    "remove": "nmrgcl.contrast",
    "resolve": "nmrgcl.run.recipe",
    "setting": "nmrgcl.settings",
    "singular_spectrum": "nmrgcl.diagnose.collapse",
    "split_nodes": "nmrgcl.data.splits",
    "svm_scores": "nmrgcl.evaluate.svm",
    "to_networkx": "nmrgcl.data.conversions",
    "to_pyg": "nmrgcl.data.conversions",
    "tracked": "nmrgcl.trackers",
}
"""What is public, and the module that has it."""
_RENAMED = {"resolve": "recipe"}

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "AddEdges",
    "Compose",
    "DropCentralEdgesLess",
    "DropEdges",
    "DropFeatures",
    "DropNodes",
    "Embedder",
    "Epoch",
    "GraphClassifier",
    "GraphEmbedder",
    "Graphs",
    "Head",
    "Identity",
    "MaskCentralFeaturesLess",
    "MaskFeatures",
    "Method",
    "MoleculeEmbedder",
    "MoleculeGIN",
    "OneOf",
    "Optimiser",
    "Pretraining",
    "Progress",
    "Settings",
    "ShuffleNodes",
    "Subgraph",
    "Teacher",
    "UserError",
    "View",
    "apply_features",
    "as_dataset",
    "build_encoder",
    "build_method",
    "build_view",
    "cca_loss",
    "choose_features",
    "cosine",
    "effective_rank",
    "find_method",
    "from_networkx",
    "from_pyg",
    "graphcl_loss",
    "infonce",
    "jensen_shannon",
    "kernel_nested",
    "linear_score",
    "load",
    "lssvm_scores",
    "measure",
    "merit_loss",
    "method_names",
    "non_maximum",
    "pool",
    "pretrain",
    "removal_masks",
    "remove",
    "resolve",
    "setting",
    "singular_spectrum",
    "split_nodes",
    "svm_scores",
    "to_networkx",
    "to_pyg",
    "tracked",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: importing the package costs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nmrgcl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), _RENAMED.get(name, name))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
