"""Molecules for a similarity search: a dataset, or embeddings written by ``nmrgcl embed``."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules import featurise
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.molecules.fingerprints import ecfp_in_parts
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, ModelError, printable
from nmrgcl.model_folder import Model
from nmrgcl.run.embedding_tables import column_names
from nmrgcl.run.embeddings import embed_all, embed_in_parts, read_embeddings

AT_A_TIME = 4096
"""How many stored embeddings are compared at once."""
SAME = 1e-2
"""Relative tolerance for two embeddings of a molecule to come from the same model."""


@dataclass(frozen=True, eq=False)
class Compared:
    """Molecules with either their graphs or their embeddings.

    Attributes:
        source: the file or the name of the dataset.
        rows: identifiers and SMILES.
        dataset: the graphs, or None if there are embeddings.
        z: ``[M, D]`` embeddings, or None if there are graphs.
    """

    source: str
    rows: MoleculeRows
    dataset: Dataset | None = None
    z: np.ndarray | None = None

    def fingerprints(self, watch: Watch | None = None) -> Iterator[np.ndarray]:
        """Yield ``[·, bits]`` fingerprints of a few thousand molecules at a time."""
        return _watched(ecfp_in_parts(self.rows.smiles), len(self.rows), watch)

    def embeddings(self, model: Model | None, device: torch.device, watch: Watch | None = None) -> Iterator[np.ndarray]:
        """Yield ``[·, D]`` embeddings of a few thousand molecules at a time, from the file or by the model."""
        if self.z is not None:
            if model is not None:
                self._require_by(model, device)
            return _watched(iter(np.array_split(self.z, -(-len(self.z) // AT_A_TIME))), len(self.z), watch)
        assert model is not None
        assert self.dataset is not None
        return (part.z for part in embed_in_parts(model, self.dataset, device, watch))

    def _require_by(self, model: Model, device: torch.device) -> None:
        """Refuse embeddings by another model; the first molecule is embedded again to find out."""
        assert self.z is not None
        graphs, _ = featurise([self.rows.smiles[0]])
        anew = embed_all(model.method.to(device), graphs.to(device)).cpu().numpy()
        known = self.z[:1]
        if anew.shape != known.shape or np.linalg.norm(anew - known) > SAME * np.linalg.norm(anew):
            raise ModelError(printable(f"{self.source}: its embeddings are by another model; embed it again"))


def read_embedded(path: Path) -> Compared | None:
    """The molecules in an ``.npz`` or ``.parquet`` file written by ``nmrgcl embed``; None for any other file."""
    if path.suffix not in (".npz", ".parquet") or not path.is_file():
        return None
    # Other Parquet files may be tables of molecules, which are read as datasets.
    if path.suffix == ".parquet" and not {"id", "smiles", "z0"} <= set(column_names(path)):
        return None
    found = read_embeddings(path, molecules=True)
    if found.smiles is None:
        raise DataError(printable(f"{path}: holds no molecules; write it with nmrgcl embed from a file of SMILES"))
    return _embedded(path, found.z, found.smiles.tolist(), found.id.tolist())


def _embedded(path: Path, z: np.ndarray, smiles: list[str | None], names: list[object]) -> Compared:
    if not len(z):
        raise DataError(printable(f"{path}: is empty"))
    with np.errstate(over="ignore"):
        z = z.astype(np.float32, copy=False)
    if not np.isfinite(z).all() or None in smiles:
        raise DataError(printable(f"{path}: a row lacks its embedding or SMILES; embed the molecules again"))
    rows = MoleculeRows(
        smiles=Texts.of(text or "" for text in smiles),
        lines=np.arange(len(z)) + 1,
        targets=np.zeros((len(z), 0), np.float32),
        names=Texts.of(map(str, names)),
        rows=len(z),
    )
    return Compared(str(path), rows, z=z)


def _watched(parts: Iterator[np.ndarray], total: int, watch: Watch | None) -> Iterator[np.ndarray]:
    done = 0
    for part in parts:
        yield part
        done += len(part)
        if watch is not None:
            watch(done, total)
