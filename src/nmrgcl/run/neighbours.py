"""The nearest molecules of a library: by cosine of embeddings, or by Tanimoto similarity of fingerprints."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nmrgcl.data.molecules import Invalid
from nmrgcl.data.molecules.fingerprints import ecfp, tanimoto
from nmrgcl.errors import DataError, ModelError, SettingError, printable
from nmrgcl.model_folder import Model
from nmrgcl.run.molecule_files import MoleculeFile, Watch
from nmrgcl.run.molecules import Part, embed_smiles, fingerprint_smiles
from nmrgcl.run.nearest import Nearest

DECIMALS = 6
"""Cosines are compared to so many: the last bits of a product depend on where in a block a row stands."""
AT_A_TIME = 4096
"""Stored embeddings that are compared at once."""
SAME = 1e-2
"""Two embeddings of a molecule by one model differ less than this share of their length."""


@dataclass(frozen=True)
class Neighbour:
    """One of the nearest library molecules of a query.

    Attributes:
        query: the identifier of the query.
        query_smiles: as written in its file.
        rank: from 1.
        neighbour: the identifier of the library molecule.
        neighbour_smiles: as written in its file.
        cosine: of the embeddings; None where fingerprints are compared.
        tanimoto: the similarity of the fingerprints (ECFP4).
    """

    query: str
    query_smiles: str
    rank: int
    neighbour: str
    neighbour_smiles: str
    cosine: float | None
    tanimoto: float


@dataclass(frozen=True)
class Found:
    """Neighbours of each query in turn; the rows that were skipped in both files; the molecules compared."""

    neighbours: list[Neighbour]
    skipped: tuple[list[Invalid], list[Invalid]]
    sizes: tuple[int, int]


def find_neighbours(
    query: MoleculeFile,
    library: MoleculeFile,
    *,
    k: int = 5,
    model: Model | None = None,
    by: str | None = None,
    device: torch.device | None = None,
    watch: Watch | None = None,
) -> Found:
    """For every query the ``k`` nearest of the library; of equally near ones, the earlier row comes first.

    ``by`` is ``cosine`` or ``ecfp``; unless given, it is the cosine where there are embeddings: by the ``model``, or
    in files that ``nmrgcl embed`` has written.
    """
    stored = all(map(_holds_embeddings, (query, library)))
    by = by or ("cosine" if model is not None or stored else "ecfp")
    _require(by, k, cosine=model is not None or stored)
    skipped: tuple[list[Invalid], list[Invalid]] = ([], [])
    place = device or torch.device("cpu")
    asked = list(query.check(_parts(query, model, by, place), skipped[0]))
    rows, values = (np.concatenate(parts) for parts in zip(*(part[:2] for part in asked), strict=True))
    best, known = Nearest(values, k, _cosine if by == "cosine" else tanimoto), 0
    for part in library.check(_parts(library, model, by, place), skipped[1], watch):
        if part.values.shape[1] != values.shape[1]:
            width, other = values.shape[1], part.values.shape[1]
            raise DataError(f"{library.path}: has {other} dimensions, the query has {width}; embed both by one model")
        best.add(part.values, part.rows)
        known += len(part.rows)
    if known < k:
        raise SettingError(f"--k {k}: the library has {known} molecules; ask for at most {known}")
    return Found(_described(query, rows, library, best, by), skipped, (len(rows), known))


def _require(by: str, k: int, *, cosine: bool) -> None:
    if by not in ("cosine", "ecfp"):
        raise SettingError(f"--by {by}: known: cosine, ecfp")
    if by == "cosine" and not cosine:
        raise SettingError("--by cosine: needs --model, or two files that nmrgcl embed has written")
    if k < 1:
        raise SettingError(f"--k {k}: ask for at least one neighbour")


def _holds_embeddings(file: MoleculeFile) -> bool:
    return "z0" in file.table.columns.column_names


def _parts(file: MoleculeFile, model: Model | None, by: str, device: torch.device) -> Iterator[Part]:
    """What is compared: fingerprints, embeddings from the file, or embeddings by the model."""
    if by == "ecfp":
        return fingerprint_smiles(file.texts(), jobs=file.jobs)
    if _holds_embeddings(file):
        return _stored(file, model, device)
    assert model is not None
    return embed_smiles(model, file.texts(), device, jobs=file.jobs)


def _stored(file: MoleculeFile, model: Model | None, device: torch.device) -> Iterator[Part]:
    """Embeddings that stand in the file; those of another model are refused, which the first one tells."""
    names = [name for name in file.table.columns.column_names if name[:1] == "z" and name[1:].isdecimal()]
    for first in range(0, len(file), AT_A_TIME):
        columns: list[Any] = [file.table.columns[name].slice(first, AT_A_TIME).to_numpy() for name in names]
        values = np.stack(columns, 1).astype(np.float32)
        if not np.isfinite(values).all():
            raise DataError(printable(f"{file.path}: embeddings are missing in a row; embed it again"))
        if first == 0 and model is not None:
            anew = next(embed_smiles(model, file.smiles(np.arange(1)), device, jobs=1)).values
            far = anew.shape != values[:1].shape or np.linalg.norm(anew - values[:1]) > SAME * np.linalg.norm(anew)
            if far:
                raise ModelError(printable(f"{file.path}: its embeddings are not by this model; embed it again"))
        yield Part(np.arange(first, first + len(values)), values, [])


def _cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    scale = np.float32(10**DECIMALS)
    return np.rint(_unit(first) @ _unit(second).T * scale) / scale


def _unit(z: np.ndarray) -> np.ndarray:
    """Rows of length one; a row of zeros stays so."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1)


def _described(query: MoleculeFile, rows: np.ndarray, library: MoleculeFile, best: Nearest, by: str) -> list[Neighbour]:
    """Names, SMILES and both similarities."""
    hits, place = np.unique(best.row, return_inverse=True)
    place = place.reshape(best.row.shape)
    asked = list(zip(query.identifiers(rows), query.smiles(rows), strict=True))
    found = list(zip(library.identifiers(hits), library.smiles(hits), strict=True))
    alike = best.value
    if by == "cosine":
        bits, others = ecfp([smiles for _, smiles in asked]), ecfp([smiles for _, smiles in found])
        alike = np.stack([tanimoto(bits[i : i + 1], others[place[i]])[0] for i in range(len(rows))])
    return [
        Neighbour(
            query=asked[i][0],
            query_smiles=asked[i][1],
            rank=rank + 1,
            neighbour=found[place[i, rank]][0],
            neighbour_smiles=found[place[i, rank]][1],
            cosine=float(best.value[i, rank]) if by == "cosine" else None,
            tanimoto=float(alike[i, rank]),
        )
        for i in range(len(rows))
        for rank in range(best.k)
    ]
