"""``nmrgcl theory``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nmrgcl.cli.options import AsJson
from nmrgcl.errors import SettingError

ENDINGS = (".svg", ".pdf", ".png")


def theory(
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the measurements: .svg, .pdf or .png.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test the lemmas and theorems of the paper numerically: compare predictions with measurements.

    Takes about half a minute on one CPU core; the numbers are the same each time.

    Examples:

      nmrgcl theory

      nmrgcl theory --json --plot theory.svg
    """
    if plot is not None and plot.suffix not in ENDINGS:
        raise SettingError(f"--plot {plot}: the ending must be one of {', '.join(ENDINGS)}")
    if plot is not None and not plot.parent.is_dir():
        raise SettingError(f"--plot {plot}: the folder {plot.parent} does not exist; create it first")
    from nmrgcl.reproduce.theory.findings import check_theory

    found = check_theory()
    if plot is not None:
        from nmrgcl.reproduce.theory.plot import plot_findings, save_figure

        save_figure(plot_findings(found), plot)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    for claim in found.claims:
        print(f"{claim.verdict:5}  {claim.claim}")
        print(f"       predicted {claim.predicted:.4g}, measured {claim.measured:.4g}; {claim.where}")
