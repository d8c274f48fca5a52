"""``nmrgcl report``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.options import AsJson, Device, Jobs

if TYPE_CHECKING:
    from nmrgcl.data import Dataset


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run or model folder.", show_default=False)],
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Dataset name, TU folder, or TU archive. (default: the model's own)"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="HTML file. (default: RUN/report.html)")] = None,
    figures: Annotated[Path | None, typer.Option(help="Also save each figure as SVG and PDF in this folder.")] = None,
    device: Device = "auto",
    jobs: Jobs = 0,
    as_json: AsJson = False,
) -> None:
    """Show a run on one HTML page: accuracy, curves, spectrum, embeddings, settings, and how to repeat it.

    The page is one file that needs no network.

    Examples:

      nmrgcl report runs/mutag

      nmrgcl report runs/mutag MUTAG --out mutag.html --figures figures
    """
    from nmrgcl.report import own_page, write_report
    from nmrgcl.run import choose_device, find_models

    where = choose_device(device)
    find_models(run)
    page = out or own_page(run)
    dataset = _load(run, data)
    written = write_report(run, dataset, page, device=where, figures=figures, jobs=jobs)
    print(json.dumps({"dataset": dataset.name, "report": str(written)}) if as_json else written)


def _load(run: Path, data: str | None) -> "Dataset":
    from nmrgcl.data import load
    from nmrgcl.errors import DataError
    from nmrgcl.model_folder import load_model
    from nmrgcl.run import find_models

    if data is not None:
        return load(data)
    name = load_model(find_models(run)[0]).dataset
    try:
        return load(name)
    except DataError as error:
        raise DataError(f"{error}; or say where its graphs are: nmrgcl report {run} DATA") from None
