"""Helpers that commands for molecules share."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.counted import counted

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset
    from nmrgcl.data.molecule_rows import Invalid
    from nmrgcl.model_folder import Model

LISTED = 5
"""Number of invalid rows that are listed; further ones are only counted."""

Smiles = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="SMILES column in a file of molecules. (default: smiles)")
]
OnInvalid = Annotated[
    str | None,
    typer.Option("--invalid", metavar="skip|error", help="How to treat rows that are not molecules. (default: skip)"),
]


def load_with(data: str, smiles: str | None, invalid: str | None) -> "Dataset":
    """Load a dataset, with progress while molecules are converted; the options are for files of molecules only."""
    from nmrgcl.data import load
    from nmrgcl.data.read import read_path

    with counted("molecules") as watch:
        if smiles is None and invalid is None:
            return load(data, watch=watch)
        return read_path(Path(data).expanduser(), watch=watch, smiles=smiles, invalid=invalid)


def load_unnamed() -> "Model":
    """Load the bundled encoder for a command without a model, and say so on standard error."""
    from nmrgcl.run.bundled import BUNDLED
    from nmrgcl.run.molecules import load_molecule_model

    model = load_molecule_model(BUNDLED)
    encoder = model.settings.encoder
    network = f"{model.settings.label} on {model.dataset}, {encoder.layers} layers × {encoder.units} units"
    print(f"no model given: using the bundled encoder ({network})", file=sys.stderr)
    return model


def tell_skipped(source: str, skipped: int, rows: int, invalid: "Sequence[Invalid]") -> None:
    """Print the number of skipped rows, and the first of them, to standard error."""
    if skipped:
        print(f"{source}: skipped {skipped} of {rows} rows, which are not molecules:", file=sys.stderr)
        for line, text, reason in invalid[:LISTED]:
            print(f"  line {line}, {text!r}: {reason}", file=sys.stderr)
