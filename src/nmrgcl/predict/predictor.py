"""An ensemble of fine-tuned encoders, and its predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from nmrgcl.errors import ModelError
from nmrgcl.evaluate.finetune import Classifier
from nmrgcl.graphs import Graphs
from nmrgcl.predict.calibrate import Calibration
from nmrgcl.predict.similarity import Known
from nmrgcl.settings import Settings

METRICS = {"roc_auc": "ROC-AUC", "pr_auc": "PR-AUC", "rmse": "RMSE", "mae": "MAE"}
"""Display names of metrics."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for ``M`` molecules and ``T`` tasks, ``[M, T]`` each.

    Attributes:
        mean: mean over the members of their probabilities (binary tasks) or numbers.
        spread: sample standard deviation over the members; NaN if there is only one.
        probability: calibrated probability from the mean logit; None for numbers.
    """

    mean: np.ndarray
    spread: np.ndarray
    probability: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Several models for the same tasks, trained with different seeds.

    Attributes:
        members: encoders with heads, in evaluation mode, all on one device.
        settings: training settings, with the seed of the first member.
        tasks: names of the ``T`` outputs.
        goal: kind of labels, "binary" or "numbers".
        calibration: calibration of binary tasks.
        known: the training molecules.
    """

    members: list[Classifier]
    settings: Settings
    tasks: tuple[str, ...]
    goal: str
    calibration: Calibration | None
    known: Known

    def predict(self, graphs: Graphs) -> Predictions:
        """Predict molecules converted by ``featurise``."""
        return summarise(outputs_of(self.members, graphs), self.goal, self.calibration)


@torch.no_grad()
def outputs_of(members: Sequence[Classifier], graphs: Graphs) -> np.ndarray:
    """Return ``[S, M, T]`` logits or numbers of each member, in evaluation mode."""
    graphs = graphs.to(members[0].head.weight.device)
    for member in members:
        member.eval()
    rows: list[Tensor] = [
        torch.stack([member(part) for member in members]) for part in graphs.passes(torch.arange(graphs.num_graphs))
    ]
    found = torch.cat(rows, 1).double().cpu().numpy()
    if not np.isfinite(found).all():
        raise ModelError("the predictions contain NaN or infinity; train again with a lower finetune.lr")
    return np.asarray(found)


def summarise(outputs: np.ndarray, goal: str, calibration: Calibration | None) -> Predictions:
    """Return mean, spread and calibrated probability of outputs ``[S, M, T]``."""
    values = expit(outputs) if goal == "binary" else outputs
    spread = values.std(0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)
    # Of the mean logit, to which the calibration was fitted.
    probability = None if calibration is None else calibration(outputs.mean(0))
    return Predictions(values.mean(0), spread, probability)
