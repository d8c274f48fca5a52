"""Predict properties of molecules with an ensemble of fine-tuned encoders."""

from nmrgcl.predict.calibrate import Calibration, fit_calibration
from nmrgcl.predict.finetune import Outcome, finetune_molecules, finetune_settings
from nmrgcl.predict.fit import Member, fit_ensemble, fit_members, require_labels, without_constant_tasks
from nmrgcl.predict.folder import PREDICTOR, Origin, load_predictor, save_predictor
from nmrgcl.predict.predictor import Predictions, Predictor
from nmrgcl.predict.similarity import Known, nearest_known

__all__ = [
    "PREDICTOR",
    "Calibration",
    "Known",
    "Member",
    "Origin",
    "Outcome",
    "Predictions",
    "Predictor",
    "finetune_molecules",
    "finetune_settings",
    "fit_calibration",
    "fit_ensemble",
    "fit_members",
    "load_predictor",
    "nearest_known",
    "require_labels",
    "save_predictor",
    "without_constant_tasks",
]
