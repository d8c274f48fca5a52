"""What the commands do apart from printing: train models on a dataset and evaluate them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmrgcl.run.checkpoints import Cadence
    from nmrgcl.run.embeddings import (
        Embeddings,
        embed_all,
        embed_dataset,
        embed_in_parts,
        read_embeddings,
        with_scale,
        write_embeddings,
    )
    from nmrgcl.run.evaluate import evaluate_embeddings, evaluate_run
    from nmrgcl.run.evaluation import (
        EVALUATION,
        Evaluation,
        SeedScores,
        keep_evaluation,
        read_evaluation,
        read_splits,
        subject_of,
    )
    from nmrgcl.run.machine import choose_device, hardware, versions
    from nmrgcl.run.model_folders import find_model, find_models
    from nmrgcl.run.pretrain import SeedEpoch, estimate_cost, pretrain_seeds
    from nmrgcl.run.recipe import default_preset, require_level

__all__ = [
    "EVALUATION",
    "Cadence",
    "Embeddings",
    "Evaluation",
    "SeedEpoch",
    "SeedScores",
    "choose_device",
    "default_preset",
    "embed_all",
    "embed_dataset",
    "embed_in_parts",
    "estimate_cost",
    "evaluate_embeddings",
    "evaluate_run",
    "find_model",
    "find_models",
    "hardware",
    "keep_evaluation",
    "pretrain_seeds",
    "read_embeddings",
    "read_evaluation",
    "read_splits",
    "require_level",
    "subject_of",
    "versions",
    "with_scale",
    "write_embeddings",
]

_MODULES = {
    "checkpoints": "Cadence",
    "embeddings": "Embeddings embed_all embed_dataset embed_in_parts read_embeddings with_scale write_embeddings",
    "evaluate": "evaluate_embeddings evaluate_run",
    "evaluation": "EVALUATION Evaluation SeedScores keep_evaluation read_evaluation read_splits subject_of",
    "machine": "choose_device hardware versions",
    "model_folders": "find_model find_models",
    "pretrain": "SeedEpoch estimate_cost pretrain_seeds",
    "recipe": "default_preset require_level",
}


def __getattr__(name: str) -> Any:
    """Import lazily, so that training does not load scikit-learn, which only evaluation needs."""
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"nmrgcl.run.{module}"), name)
    raise AttributeError(f"module 'nmrgcl.run' has no attribute {name!r}")
