"""Write predictions as CSV or Parquet, with one row per row of the input file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl import atomic
from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.molecules import Invalid, Molecules, read_molecules
from nmrgcl.data.molecules.columns import smiles_column, texts
from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.data.molecules.tables import read_table
from nmrgcl.errors import SettingError
from nmrgcl.predict.predictor import Predictor
from nmrgcl.predict.similarity import nearest_known

ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The output of ``nmrgcl predict``.

    Attributes:
        columns: columns by name, with one value per row of the file; None or NaN for invalid rows.
        invalid: rows that are not valid molecules, by line.
        similarity: ``[M]`` similarity of the valid molecules to the nearest training molecule.
    """

    columns: dict[str, list[Any] | np.ndarray]
    invalid: tuple[Invalid, ...]
    similarity: np.ndarray

    def __len__(self) -> int:
        return len(self.columns["smiles"])


def require_ending(out: Path) -> None:
    """Raise SettingError unless the file is CSV or Parquet."""
    if out.suffix not in ENDINGS:
        raise SettingError(f"--out {out}: known endings: {', '.join(ENDINGS)}")


def predict_file(predictor: Predictor, path: Path, *, smiles: str | None = None) -> PredictionTable:
    """Predict the molecules of a file, in order; an invalid row has an identifier but empty cells."""
    molecules = read_molecules(path, smiles=smiles, labels=())
    found = predictor.predict(molecules.graphs)
    number, similarity = nearest_known(ecfp(molecules.smiles), predictor.known)
    lines, identifiers, written = _all_rows(molecules, Path(path).expanduser(), smiles)
    place = np.searchsorted(lines, molecules.lines)  # lines ascend
    columns: dict[str, list[Any] | np.ndarray] = {"id": identifiers, "smiles": written}
    for task, name in enumerate(predictor.tasks):
        parts = {"mean": found.mean, "spread": found.spread, "probability": found.probability}
        for what, values in parts.items():
            if values is not None:
                columns[f"{name}_{what}"] = _spread_out(values[:, task], place, len(lines))
    columns["similarity"] = _spread_out(similarity, place, len(lines))
    nearest: list[Any] = [None] * len(lines)
    for row, known in zip(place.tolist(), number.tolist(), strict=True):
        nearest[row] = predictor.known.smiles[known]
    columns["nearest"] = nearest
    return PredictionTable(columns, molecules.invalid, similarity)


def write_predictions(table: PredictionTable, out: Path) -> None:
    """Write CSV, with empty cells for missing values, or Parquet; the file appears complete or not at all."""
    require_ending(out)
    pa = arrow()
    # from_pandas makes NaN a null, which CSV writes as an empty cell.
    made = pa.table({name: pa.array(values, from_pandas=True) for name, values in table.columns.items()})
    with atomic.new_file(out) as file:
        if out.suffix == ".csv":
            pa.csv.write_csv(made, file, pa.csv.WriteOptions(quoting_style="needed"))
        else:
            pa.parquet.write_table(made, file)


def _all_rows(molecules: Molecules, path: Path, smiles: str | None) -> tuple[np.ndarray, list[str], list[str | None]]:
    """Return lines, identifiers and SMILES of all rows of the file, including invalid ones."""
    # Read again, because read_molecules keeps the valid rows only.
    table = read_table(path)
    whole = replace(molecules, columns=table.columns, lines=table.lines)
    written = texts(table.columns[smiles_column(table.columns, str(path), smiles)])
    return table.lines, whole.ids, written


def _spread_out(values: np.ndarray, place: np.ndarray, rows: int) -> np.ndarray:
    found = np.full(rows, np.nan)
    found[place] = values
    return found
