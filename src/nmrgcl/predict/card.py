"""The model card of a fine-tuned model."""

from collections.abc import Mapping
from typing import Any

from nmrgcl import __version__
from nmrgcl.predict.predictor import METRICS

LISTED = 12
"""Number of tasks that the card lists."""


def predictor_card(values: Mapping[str, Any]) -> str:
    """Return Markdown with the header for model hubs, from the values of the record."""
    tasks = ", ".join(_cell(task) for task in values["tasks"][:LISTED])
    tasks += f" and {len(values['tasks']) - LISTED} more" if len(values["tasks"]) > LISTED else ""
    kind = "binary labels" if values["goal"] == "binary" else "numbers"
    start = f"pre-trained on {_cell(values['start'])}" if values["start"] else "not pre-trained"
    how = "a linear probe of a frozen encoder" if values["probe"] else "encoder and head trained end to end"
    parts = " / ".join(str(len(values["split"][part])) for part in ("train", "valid", "test"))
    metrics = list(values["scores"][0]["scores"]) if values["scores"] else []
    rows = "\n".join(
        f"| {_cell(row['name'])} | {' | '.join(_score(row['scores'][metric]) for metric in metrics)} |"
        for row in values["scores"]
    )
    table = (
        f"| | {' | '.join(METRICS[metric] for metric in metrics)} |\n|---{'|---' * len(metrics)}|\n{rows}"
        if metrics
        else "No scores."
    )
    return f"""---
library_name: nmrgcl
tags: [molecules, property-prediction]
---

# {_cell(values["dataset"])}: {tasks}

Predicts {kind} of molecules given as SMILES. An ensemble of {len(values["seeds"])}: {how}, the encoder {start}.
Created by nmrgcl {__version__}.

Scores on the test part (split {_cell(values["split"]["name"])}, {parts} training, validation and test molecules):

{table}

All settings, the split and the calibration are in `predictor.json`; `SHA256SUMS` lists the files.

## Use

`nmrgcl predict this-folder new.csv --out predictions.csv`

Predictions are less reliable for molecules that are unlike every training molecule (column `similarity`).
"""


def _score(score: Mapping[str, Any]) -> str:
    return f"{score['mean']:.3g}" + ("" if score["std"] is None else f" ± {score['std']:.2g}")


def _cell(value: object) -> str:
    """Escape text for a table cell."""
    return " ".join(str(value).replace("|", "\\|").replace("<", "&lt;").split())
