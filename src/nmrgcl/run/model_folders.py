"""Find the model folders of a run, without loading torch."""

import re
from pathlib import Path

from nmrgcl.errors import ModelError, SettingError
from nmrgcl.run.bundled import model_path


def find_models(run: Path) -> list[Path]:
    """The model folders of a run in the order of their seeds; a model folder counts as a run of one model."""
    if (run / "config.json").exists():
        return [run]
    if not run.is_dir():
        raise ModelError(f"{run}: no such run or model folder; make one with nmrgcl pretrain")
    if (run / "predictor.json").exists():
        raise ModelError(f"{run} is a fine-tuned model: use it with nmrgcl predict")
    numbers = sorted(int(m[1]) for p in run.iterdir() if (m := re.fullmatch(r"seed-(\d+)", p.name)))
    if not numbers:
        raise ModelError(f"{run}: holds no models (seed-0, seed-1, …); make a run with nmrgcl pretrain")
    return [run / f"seed-{number}" for number in numbers]


def find_model(run: Path | str) -> Path:
    """The model folder of a run that has one, or of "bundled"; the error for several suggests the first."""
    folders = find_models(model_path(run))
    if len(folders) > 1:
        raise SettingError(f"{run}: holds {len(folders)} models; name one, for example {folders[0]}")
    return folders[0]
