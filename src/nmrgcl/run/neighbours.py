"""The nearest molecules of a library: by cosine of embeddings, or by Tanimoto similarity of fingerprints."""

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
"""Cosines are compared to so many: the last bits of a product depend on where in a block a row stands."""


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
    """For every query the ``k`` nearest of the library; of equally near ones, the earlier row comes first.

    ``by`` is ``cosine`` or ``ecfp``; unless given, it is the cosine where there are embeddings: by the ``model``, or
    in both files. ``watch`` is told how much of the library is done.
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
            raise DataError(printable(f"{library.source}: {widths}; embed both by one model"))
        best.add(part, np.arange(first, first + len(part)))
        first += len(part)
    return _described(query.rows, library.rows, best, by)


def _require(by: str, k: int, library: int, *, embedded: bool) -> None:
    if by not in ("cosine", "ecfp"):
        raise SettingError(f"--by {by}: known: cosine, ecfp")
    if by == "cosine" and not embedded:
        raise SettingError(
            "--by cosine: needs --model (for example bundled), or two files that nmrgcl embed has written"
        )
    if k < 1:
        raise SettingError(f"--k {k}: ask for at least one neighbour")
    if k > library:
        raise SettingError(f"--k {k}: the library has {library} molecules; ask for at most {library}")


def _cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    scale = np.float32(10**DECIMALS)
    return np.rint(_unit(first) @ _unit(second).T * scale) / scale


def _unit(z: np.ndarray) -> np.ndarray:
    """Rows of length one; a row of zeros stays so."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1)


def _described(query: MoleculeRows, library: MoleculeRows, best: Nearest, by: str) -> list[Neighbour]:
    """Names, SMILES and both similarities."""
    hits, place = np.unique(best.row, return_inverse=True)
    place = place.reshape(best.row.shape)
    asked = list(zip(query.identifiers, query.smiles, strict=True))
    names = library.identifiers
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
