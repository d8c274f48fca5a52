"""Helpers that commands for molecules share."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.counted import counted
from nmrgcl.errors import DataError, printable

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset
    from nmrgcl.data.molecule_rows import Invalid
    from nmrgcl.data.molecules import Molecules
    from nmrgcl.model_folder import Model

LISTED = 5
"""Number of invalid rows or columns that are listed; further ones are only counted."""

Smiles = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="SMILES column in a file of molecules. (default: smiles)")
]
OnInvalid = Annotated[
    str | None,
    typer.Option("--invalid", metavar="skip|error", help="How to treat rows that are not molecules. (default: skip)"),
]


def load_with(data: str, smiles: str | None, invalid: str | None) -> "Dataset":
    """Load a dataset, with progress while molecules are converted; the options are for files of molecules only."""
    from nmrgcl.data.loading import load
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
        if more := skipped - len(invalid[:LISTED]):
            print(f"  … and {more} more", file=sys.stderr)


def choose_labels(molecules: "Molecules", smiles: str | None) -> "tuple[Molecules, list[str]]":
    """Leave out the tasks whose labels are all the same, and return their names.

    Standard error names the columns that are learned, if there are several, and says why others are not used.
    """
    from nmrgcl.data.molecules.columns import smiles_column
    from nmrgcl.data.molecules.labels import numbers, unused_columns
    from nmrgcl.predict.fit import without_constant_tasks

    source, columns = molecules.source, molecules.columns
    kept, constant = without_constant_tasks(molecules)
    for name, why in unused_columns(columns, smiles_column(columns, source, smiles), molecules.lines):
        if not kept.tasks:
            numbers(columns[name], name, source, molecules.lines)  # says why, as for a column named with --labels
        print(printable(f"{name!r} is not used: {why}"), file=sys.stderr)
    if constant and not kept.tasks:
        raise DataError(
            printable(f"{source}: all labels are the same: {shortened(constant)}; there is nothing to learn")
        )
    if len(kept.tasks) > 1:
        print(
            printable(f"labels: {shortened(kept.tasks)} (every numeric column; choose with --labels)"), file=sys.stderr
        )
    return kept, constant


def require_one_kind(molecules: "Molecules", *, named: bool) -> None:
    """Refuse labels of two kinds, or say what becomes of them if they were ``named``; for a command without --task."""
    from nmrgcl.evaluate.goals import names_by_kind

    binary, others = map(shortened, names_by_kind(molecules.labels, molecules.tasks, molecules.source))
    if not binary or not others:
        return
    told = printable(f"{molecules.source}: only 0 and 1 in {binary}, but other numbers in {others}")
    if not named:
        raise DataError(f"{told}; name the columns to learn with --labels, or pass --task numbers")
    print(f"{told}; all are learned as numbers", file=sys.stderr)


def shortened(names: Sequence[str]) -> str:
    """Return the first names, separated by commas, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")
