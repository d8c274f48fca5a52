"""``nmrgcl evaluate``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.options import AsJson, Assignments, Data, Device

if TYPE_CHECKING:
    from nmrgcl.run import Judgement, Scores


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run or model folder.", show_default=False)],
    data: Data,
    seeds: Annotated[int, typer.Option(min=1, help="Fold seeds, where the run is a single model.")] = 5,
    assignments: Assignments = None,
    device: Device = "auto",
    jobs: Annotated[int, typer.Option(min=0, help="Worker processes; 0: one a core.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Judge frozen embeddings by an SVM, ten-fold, beside the untrained encoder's.

    The penalty C is chosen inside the training folds, and no epoch is chosen by any label.

    Examples:

      nmrgcl evaluate runs/mutag MUTAG

      nmrgcl evaluate runs/mutag/seed-0 MUTAG --set standardise=false --json
    """
    from nmrgcl.data import load
    from nmrgcl.run import choose_device, evaluate_run, find_models

    where = choose_device(device)
    find_models(run)
    dataset = load(data)
    found = evaluate_run(run, dataset, device=where, fold_seeds=seeds, overrides=assignments or (), jobs=jobs)
    print(json.dumps(found.to_dict()) if as_json else _table(found))


def _table(found: "Judgement") -> str:
    n, folds = found.trained.folds.shape
    varied = "models" if found.varied == "model" else "fold seeds of one model"
    scaled = "standardised" if found.svm.standardise else "raw"
    return "\n".join(
        [
            f"{found.dataset} with {found.features} features: accuracy in %, mean ± sample standard deviation",
            f"RBF SVM on {scaled} embeddings, C: {found.svm.c}; {folds} folds × {n} {varied}; honest selection",
            f"  {found.method:<10} {_row(found.trained)}",
            f"  {'untrained':<10} {_row(found.untrained)}",
        ]
    )


def _row(scores: "Scores") -> str:
    facts = scores.to_dict()
    return f"{facts['mean']:6.2f} ± {facts['std']:.2f}   seeds " + " ".join(f"{s:.1f}" for s in facts["scores"])
