"""``nmrgcl report``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nmrgcl.cli.options import AsJson, Device, Jobs, RunData


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run or model folder.", show_default=False)],
    data: RunData = None,
    out: Annotated[Path | None, typer.Option(help="HTML file. (default: RUN/report.html)")] = None,
    figures: Annotated[Path | None, typer.Option(help="Also save each figure as SVG and PDF in this folder.")] = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page about a run: accuracy, curves, spectrum, embeddings, settings, and how to repeat it.

    The page is a single file and can be viewed offline.

    Examples:

      nmrgcl report runs/mutag

      nmrgcl report runs/mutag MUTAG --out mutag.html --figures figures
    """
    from nmrgcl.data.loading import load
    from nmrgcl.report import own_page, write_report
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.model_folders import find_models
    from nmrgcl.run.own_data import load_own_data

    where = choose_device(device)
    find_models(run)
    page = out or own_page(run)
    dataset = load_own_data(run, f"nmrgcl report {run}") if data is None else load(data)
    written = write_report(run, dataset, page, device=where, figures=figures, jobs=jobs)
    print(json.dumps({"dataset": dataset.name, "report": str(written)}) if as_json else written)
