"""What the commands do apart from printing: train models on a dataset and evaluate them."""

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
from nmrgcl.run.evaluate import evaluate_embeddings, evaluate_run, find_model, find_models
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
