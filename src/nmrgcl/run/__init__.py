"""From a dataset to models, and from models to scores: what the commands do, without the printing."""

from nmrgcl.run.device import choose_device
from nmrgcl.run.embed import embed_all, embed_dataset
from nmrgcl.run.estimate import estimate_cost
from nmrgcl.run.export import Embeddings, read_embeddings, write_embeddings
from nmrgcl.run.judge import Judgement, Scores, evaluate_embeddings, evaluate_run, find_models
from nmrgcl.run.kept import EVALUATION, keep_judgement, read_evaluation, read_splits
from nmrgcl.run.level import default_preset, require_level
from nmrgcl.run.machine import hardware, versions
from nmrgcl.run.memory import Cadence
from nmrgcl.run.pretrain import SeedEpoch, pretrain_seeds
from nmrgcl.run.subject import subject_of

__all__ = [
    "EVALUATION",
    "Cadence",
    "Embeddings",
    "Judgement",
    "Scores",
    "SeedEpoch",
    "choose_device",
    "default_preset",
    "embed_all",
    "embed_dataset",
    "estimate_cost",
    "evaluate_embeddings",
    "evaluate_run",
    "find_models",
    "hardware",
    "keep_judgement",
    "pretrain_seeds",
    "read_embeddings",
    "read_evaluation",
    "read_splits",
    "require_level",
    "subject_of",
    "versions",
    "write_embeddings",
]
