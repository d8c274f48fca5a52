"""Cells that take a fraction of a second."""

import torch

from nmrgcl.run.cell import Cell
from nmrgcl.run.results import Result
from nmrgcl.settings import Settings

CPU = torch.device("cpu")
QUICK = {"epochs": 2, "encoder.units": 4, "layers": 2, "batch_size": 100, "folds": 2, "svm.c": "default"}


def quick(dataset: str = "motifs", selection: str = "honest", **changed: object) -> Cell:
    """A cell with two epochs and two folds; ``changed`` settings have short names."""
    return Cell(dataset, Settings.from_dict(QUICK | changed), selection=selection)  # type: ignore[arg-type]


def result_of(run: Cell, *folds: float) -> Result:
    """A made-up result."""
    scores = {"folds": list(folds), "mean": sum(folds) / len(folds)}
    facts: dict[str, object] = {"epochs": 2}
    return Result(
        run.key,
        run.named(),
        run.settings.to_dict(),
        "done",
        scores,
        None,
        facts,
        facts,
        {"nmrgcl": "0"},
        {},
        {"total": 1.5},
    )
