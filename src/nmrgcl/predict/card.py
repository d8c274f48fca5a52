"""The model card of a fine-tuned model."""

from collections.abc import Mapping, Sequence
from typing import Any

from nmrgcl import __version__
from nmrgcl.predict.predictor import METRICS

LISTED = 12
"""Number of tasks that a sentence lists."""


def predictor_card(values: Mapping[str, Any]) -> str:
    """Return Markdown with the header for model hubs, from the values of the record."""
    tasks = listed([_cell(task) for task in values["tasks"]])
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
    slopes = values["calibration"]["slope"] if values["calibration"] else [1.0] * len(values["tasks"])
    constant = [_cell(task) for task, slope in zip(values["tasks"], slopes, strict=True) if slope == 0]
    remarks = "".join(f"\n{remark}\n" for remark in uninformative(constant))
    return f"""---
library_name: nmrgcl
tags: [molecules, property-prediction]
---

# {_cell(values["dataset"])}: {tasks}

Predicts {kind} of molecules given as SMILES. An ensemble of {len(values["seeds"])}: {how}, the encoder {start}.
Created by nmrgcl {__version__}.

Scores on the test part (split {_cell(values["split"]["name"])}, {parts} training, validation and test molecules):

{table}
{remarks}
All settings, the split and the calibration are in `predictor.json`; `SHA256SUMS` lists the files.

## Use

`nmrgcl predict this-folder new.csv --out predictions.csv`

Predictions are less reliable for molecules that are unlike every training molecule (column `similarity`).
"""


def uninformative(tasks: Sequence[str]) -> list[str]:
    """Return a sentence about tasks whose probability is the same for every molecule, if there are any."""
    if not tasks:
        return []
    what = "task" if len(tasks) == 1 else "tasks"
    return [
        f"{what} {listed(tasks)}: on the validation part the model ranks no better than chance, so that every molecule "
        "gets the same probability."
    ]


def listed(tasks: Sequence[str]) -> str:
    """Return the names of the first tasks, and the number of the others."""
    more = f" and {len(tasks) - LISTED} more" if len(tasks) > LISTED else ""
    return ", ".join(tasks[:LISTED]) + more


def _score(score: Mapping[str, Any]) -> str:
    return f"{score['mean']:.3g}" + ("" if score["std"] is None else f" ± {score['std']:.2g}")


def _cell(value: object) -> str:
    """Escape text for a table cell."""
    return " ".join(str(value).replace("|", "\\|").replace("<", "&lt;").split())
