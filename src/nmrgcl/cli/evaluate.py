"""``nmrgcl evaluate``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.counted import counted
from nmrgcl.cli.options import AsJson, Assignments, Device, Jobs, ProtocolOption, RunData, SplitOption
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.run.evaluation import Evaluation, SeedScores


def evaluate(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="Run or model folder, or a file written by embed.", show_default=False),
    ],
    data: RunData = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of seeds for folds or splits, for a single model.")
    ] = 5,
    split: SplitOption = None,
    protocol: ProtocolOption = None,
    assignments: Assignments = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate frozen embeddings, next to those of an untrained encoder.

    Graphs are classified by an SVM with ten-fold cross-validation, nodes by logistic regression. The penalty C is
    chosen inside the training folds or on the validation nodes; labels never choose an epoch. Scores and folds are
    written to evaluation.json and splits.json in the run folder.

    Examples:

      nmrgcl evaluate runs/mutag

      nmrgcl evaluate runs/mutag/seed-0 MUTAG --set standardise=false --json

      nmrgcl evaluate runs/pubmed PubMed --split public

      nmrgcl evaluate runs/nci1 NCI1 --protocol lssvm --device cuda

      nmrgcl evaluate z.csv
    """
    from nmrgcl.data.loading import load
    from nmrgcl.run.embeddings import WRITERS, read_embeddings
    from nmrgcl.run.evaluate import evaluate_embeddings, evaluate_run
    from nmrgcl.run.evaluation import keep_evaluation, require_place
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.model_folders import find_models
    from nmrgcl.run.own_data import load_own_data

    options: dict[str, Any] = {"fold_seeds": seeds, "overrides": assignments or (), "jobs": jobs}
    options |= {"split": split, "protocol": protocol}
    where = choose_device(device)
    if run.suffix in WRITERS and not run.is_dir():
        if data is not None:
            raise SettingError(f"{run}: embeddings are evaluated without a dataset; leave {data} out")
        with counted("folds") as watch:
            found = evaluate_embeddings(read_embeddings(run), run.name, device=where, watch=watch, **options)
    else:
        find_models(run)
        require_place(run)
        dataset = load_own_data(run, f"nmrgcl evaluate {run}") if data is None else load(data)
        with counted("folds") as watch:
            found = evaluate_run(run, dataset, device=where, watch=watch, **options)
        keep_evaluation(run, found, dataset)
    print(json.dumps(found.to_dict()) if as_json else _table(found))


def _table(found: "Evaluation") -> str:
    features = f" with {found.features} features" if found.features else ""
    several = len(found.trained.folds) > 1
    lines = [
        f"{found.dataset}{features}: accuracy in %{', mean ± sample standard deviation' if several else ''}",
        found.sentence,
        f"  {found.method or 'embeddings':<10} {_row(found.trained)}",
    ]
    if found.untrained:
        lines.append(f"  {'untrained':<10} {_row(found.untrained)}")
    return "\n".join(lines)


def _row(scores: "SeedScores") -> str:
    each = scores.to_dict()["scores"]
    return f" {scores}" + (f"   seeds {' '.join(f'{score:.1f}' for score in each)}" if len(each) > 1 else "")
