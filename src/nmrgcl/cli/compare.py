"""``nmrgcl compare``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.options import AsJson, Assignments, Device, Jobs, Protocol, Split
from nmrgcl.errors import SettingError


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Runs; the first is the reference.")],
    data: Annotated[str, typer.Option(help="Dataset to judge them on.")],
    assignments: Assignments = None,
    split: Split = None,
    protocol: Protocol = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Compare runs with the first one on the same folds, with paired statistics.

    The p-value is that of the corrected resampled t-test, adjusted for the number of comparisons by Holm's method.

    Examples:

      nmrgcl compare runs/graphcl runs/nmrgcl --data MUTAG
    """
    from nmrgcl.data import load
    from nmrgcl.evaluate.paired import holm, paired_difference
    from nmrgcl.evaluate.spread import with_p
    from nmrgcl.run import choose_device, evaluate_run, find_models

    if len(runs) < 2:
        raise SettingError("compare needs at least two runs")
    where = choose_device(device)
    seeds = [[folder.name for folder in find_models(run)] for run in runs]
    for run, names in zip(runs, seeds, strict=True):
        if len(names) != len(seeds[0]) or (len(names) > 1 and names != seeds[0]):
            raise SettingError(
                f"{run}: has other seeds than {runs[0]}; folds belong to seeds, so they cannot be paired"
            )
    dataset = load(data)
    options: dict[str, Any] = {"overrides": assignments or (), "jobs": jobs, "split": split, "protocol": protocol}
    found = [evaluate_run(run, dataset, device=where, **options) for run in runs]
    if found[0].trained.folds.size < 2:
        raise SettingError(
            f"{runs[0]}: one model on one split has one score, and nothing tells how far that is due to chance; "
            "pre-train with --seeds 2 or more, or use a split that has seeds"
        )
    ratio = found[0].test_to_train
    differences = [paired_difference(f.trained.folds, found[0].trained.folds, test_to_train=ratio) for f in found[1:]]
    adjusted = holm([d.p for d in differences])
    if as_json:
        rows = [
            {"run": str(r), **asdict(d), "p_holm": p} for r, d, p in zip(runs[1:], differences, adjusted, strict=True)
        ]
        means = [{"run": str(run), **f.trained.to_dict()} for run, f in zip(runs, found, strict=True)]
        print(json.dumps({"dataset": dataset.name, "reference": str(runs[0]), "runs": means, "differences": rows}))
        return
    for number, (run, judged) in enumerate(zip(runs, found, strict=True)):
        line = f"{run!s:<24}  {judged.trained}"
        if number:
            d, p = differences[number - 1], adjusted[number - 1]
            line += f"   {d.mean:+.2f} points (95 % CI {d.low:+.2f} … {d.high:+.2f}, {with_p(p)})"
        print(line)
