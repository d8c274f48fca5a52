"""Nearest neighbours in a library of molecules, by cosine of embeddings or Tanimoto similarity of fingerprints."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.molecules.fingerprints import ecfp, tanimoto
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.model_folder import Model
from nmrgcl.run.compared import Compared
from nmrgcl.run.nearest import Nearest

DECIMALS = 6
"""Cosines are rounded before comparison, because their last bits depend on a row's position within a block."""


@dataclass(frozen=True)
class Neighbour:
    """One of the nearest library molecules of a query.

    Attributes:
        query: the identifier of the query.
        query_smiles: its SMILES as written in the file.
        rank: the rank, from 1.
        neighbour: the identifier of the library molecule.
        neighbour_smiles: its SMILES as written in the file.
        cosine: the cosine of the embeddings; None if fingerprints are compared.
        tanimoto: the Tanimoto similarity of the fingerprints (ECFP4).
    """

    query: str
    query_smiles: str
    rank: int
    neighbour: str
    neighbour_smiles: str
    cosine: float | None
    tanimoto: float


def find_neighbours(
    query: Compared,
    library: Compared,
    *,
    k: int = 5,
    model: Model | None = None,
    by: str | None = None,
    device: torch.device | None = None,
    watch: Watch | None = None,
) -> list[Neighbour]:
    """The ``k`` nearest library molecules of every query; ties are broken by row number.

    ``by`` is ``cosine`` or ``ecfp``; the default is the cosine if embeddings are available, from ``model`` or from
    both files. ``watch`` is called with the number of library molecules done and the total.
    """
    embedded = model is not None or (query.z is not None and library.z is not None)
    by = by or ("cosine" if embedded else "ecfp")
    _require(by, k, len(library.rows), embedded=embedded)
    place = device or torch.device("cpu")

    def parts(one: Compared, watch: Watch | None = None) -> Iterator[np.ndarray]:
        return one.fingerprints(watch) if by == "ecfp" else one.embeddings(model, place, watch)

    asked = np.concatenate(list(parts(query)))
    best, first = Nearest(asked, k, tanimoto if by == "ecfp" else _cosine), 0
    for part in parts(library, watch):
        if part.shape[1] != asked.shape[1]:
            widths = f"has {part.shape[1]} dimensions, the query has {asked.shape[1]}"
            raise DataError(printable(f"{library.source}: {widths}; embed both with the same model"))
        best.add(part, np.arange(first, first + len(part)))
        first += len(part)
    return _described(query.rows, library.rows, best, by)


def _require(by: str, k: int, library: int, *, embedded: bool) -> None:
    if by not in ("cosine", "ecfp"):
        raise SettingError(f"--by {by}: known: cosine, ecfp")
    if by == "cosine" and not embedded:
        raise SettingError("--by cosine: needs --model (for example bundled), or two files written by nmrgcl embed")
    if k < 1:
        raise SettingError(f"--k {k}: ask for at least one neighbour")
    if k > library:
        raise SettingError(f"--k {k}: the library has {library} molecules; ask for at most {library}")


def _cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    # In float32, one copy in ten would be rounded to another decimal than its original.
    return np.round(_unit(first) @ _unit(second).T, DECIMALS).astype(np.float32)


def _unit(z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length, in float64; rows of zeros stay zero."""
    z = z.astype(np.float64)
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1)


def _described(query: MoleculeRows, library: MoleculeRows, best: Nearest, by: str) -> list[Neighbour]:
    """Add names, SMILES and the Tanimoto similarity to the rows found."""
    # Many queries may share a neighbour, whose fingerprint is computed once.
    hits, place = np.unique(best.row, return_inverse=True)
    place = place.reshape(best.row.shape)
    asked = list(zip(query.ids, query.smiles, strict=True))
    names = library.ids
    found = [(names[row], library.smiles[row]) for row in hits.tolist()]
    alike = best.value
    if by == "cosine":
        bits, others = ecfp(query.smiles), ecfp([smiles for _, smiles in found])
        alike = np.stack([tanimoto(bits[i : i + 1], others[place[i]])[0] for i in range(len(asked))])
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
        for i in range(len(asked))
        for rank in range(best.k)
    ]
