"""What commands on molecules share: options, progress, and what is said about rows that are not molecules."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.counted import counted

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset
    from nmrgcl.data.molecule_rows import Invalid
    from nmrgcl.model_folder import Model

LISTED = 5
"""Invalid rows that are listed; of further ones only the number is printed."""

Smiles = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of SMILES in a file of molecules. (default: smiles)")
]
OnInvalid = Annotated[
    str | None,
    typer.Option(
        "--invalid", metavar="skip|error", help="Rows of a file of molecules that are not molecules. (default: skip)"
    ),
]


def load_with(data: str, smiles: str | None, invalid: str | None) -> "Dataset":
    """The dataset, and progress while molecules are made graphs; only files of molecules have these options."""
    from nmrgcl.data import load
    from nmrgcl.data.read import read_path

    with molecules_made() as watch:
        if smiles is None and invalid is None:
            return load(data, watch=watch)
        return read_path(Path(data).expanduser(), watch=watch, smiles=smiles, invalid=invalid)


def load_unnamed() -> "Model":
    """The bundled encoder, for a command that was given no model; standard error says so."""
    from nmrgcl.run.bundled import BUNDLED
    from nmrgcl.run.molecules import load_molecule_model

    model = load_molecule_model(BUNDLED)
    encoder = model.settings.encoder
    network = f"{model.settings.label} on {model.dataset}, {encoder.layers} layers × {encoder.units} units"
    print(f"no model is named: this uses the bundled encoder ({network})", file=sys.stderr)
    return model


def tell_skipped(source: str, skipped: int, rows: int, invalid: "Sequence[Invalid]") -> None:
    """Print how many rows of a file were skipped, and the first of the invalid ones, to standard error."""
    if skipped:
        print(f"{source}: skipped {skipped} of {rows} rows, which are not molecules:", file=sys.stderr)
        for line, text, reason in invalid[:LISTED]:
            print(f"  line {line}, {text!r}: {reason}", file=sys.stderr)


def molecules_made(*, quiet: bool = False) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """What to call with the molecules that are done, and how many there are."""
    return counted("molecules", quiet=quiet)
