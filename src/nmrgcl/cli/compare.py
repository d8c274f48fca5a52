"""``nmrgcl compare``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.options import AsJson, Assignments, Device, Jobs, ProtocolOption, SplitOption


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="Runs; the first is the reference.")],
    data: Annotated[str | None, typer.Option(help="Dataset to judge them on. (default: the first run's own)")] = None,
    assignments: Assignments = None,
    split: SplitOption = None,
    protocol: ProtocolOption = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Compare runs with the first one on the same folds, with paired statistics.

    The p-value is that of the corrected resampled t-test, adjusted for the number of comparisons by Holm's method.

    Examples:

      nmrgcl compare runs/graphcl runs/nmrgcl --data MUTAG
    """
    from nmrgcl.evaluate.spread import with_p
    from nmrgcl.run import choose_device
    from nmrgcl.run.compare import compare_runs

    options: dict[str, Any] = {"overrides": assignments or (), "jobs": jobs, "split": split, "protocol": protocol}
    found = compare_runs(runs, data, device=choose_device(device), **options)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    print(f"{found.runs[0]:<24}  {found.scores[0]}")
    for run, scores, d, p in zip(found.runs[1:], found.scores[1:], found.differences, found.p_holm, strict=True):
        print(f"{run:<24}  {scores}   {d.mean:+.2f} points (95 % CI {d.low:+.2f} … {d.high:+.2f}, {with_p(p)})")
