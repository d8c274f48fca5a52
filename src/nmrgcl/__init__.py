"""Self-supervised graph embeddings with non-maximum removal (nmrGCL, arXiv 2203.12821)."""

import os
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

__version__ = "1.0.0"

# Before torch is loaded: OpenMP's waiting threads spin for milliseconds by default. If other programs need the cores, a
# step with two threads then takes up to thirty times as long (docs/lab/speed.md).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_MODULES = {
    "augment": "AddEdges Compose DropCentralEdgesLess DropEdges DropFeatures DropNodes Identity "
    "MaskCentralFeaturesLess MaskFeatures OneOf ShuffleNodes Subgraph View build_view",
    "classifier": "GraphClassifier",
    "contrast": "cca_loss cosine graphcl_loss infonce jensen_shannon merit_loss non_maximum removal_masks remove",
    "data.accept": "as_dataset",
    "data.conversions": "from_networkx from_pyg to_networkx to_pyg",
    "data.features": "apply_features choose_features",
    "data.loading": "load",
    "data.splits": "split_nodes",
    "diagnose.collapse": "effective_rank singular_spectrum",
    "diagnose.measure": "measure",
    "encode": "GAT GCN GIN Head MoleculeGIN build_encoder",
    "encode.pool": "pool",
    "encode.teacher": "Teacher",
    "errors": "UserError",
    "estimator": "GraphEmbedder",
    "evaluate.kernel_svm": "kernel_nested",
    "evaluate.linear": "linear_score",
    "evaluate.lssvm": "lssvm_scores",
    "evaluate.svm": "svm_scores",
    "graphs": "Graphs",
    "methods": "Embedder Method Pretraining build_method find_method method_names",
    "molecule_embedder": "MoleculeEmbedder",
    "run.recipe": "resolve",
    "settings": "Settings setting",
    "trackers": "tracked",
    "train": "Epoch Optimiser Progress pretrain",
}
"""The modules that define the public names."""
_HOMES = {name: f"nmrgcl.{module}" for module, names in _MODULES.items() for name in names.split()}
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
    """Import lazily, so that importing the package does not load torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nmrgcl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), _RENAMED.get(name, name))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
