"""``nmrgcl compare``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.options import AsJson, Assignments, Device, Jobs, ProtocolOption, SplitOption


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Runs; the first is the reference.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="Dataset for the evaluation. (default: that of the first run)", autocompletion=complete_dataset
        ),
    ] = None,
    assignments: Assignments = None,
    split: SplitOption = None,
    protocol: ProtocolOption = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Compare runs with the first one on the same folds, with paired statistics.

    P-values are those of the corrected resampled t-test, with Holm's adjustment for multiple comparisons.

    Examples:

      nmrgcl compare runs/graphcl runs/nmrgcl --data MUTAG
    """
    from nmrgcl.evaluate.spread import with_p
    from nmrgcl.run.compare import compare_runs
    from nmrgcl.run.machine import choose_device

    options: dict[str, Any] = {"overrides": assignments or (), "jobs": jobs, "split": split, "protocol": protocol}
    found = compare_runs(runs, data, device=choose_device(device), **options)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    print(f"{found.runs[0]:<24}  {found.scores[0]}")
    for run, scores, d, p in zip(found.runs[1:], found.scores[1:], found.differences, found.p_holm, strict=True):
        print(f"{run:<24}  {scores}   {d.mean:+.2f} points (95 % CI {d.low:+.2f} … {d.high:+.2f}, {with_p(p)})")
