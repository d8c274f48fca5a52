"""Convert SMILES to graphs of atoms and bonds, with the features of Hu et al. 2020."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from nmrgcl.data.molecule_rows import Invalid
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES, CHIRALITY, DIRECTION, TYPES
from nmrgcl.errors import printable
from nmrgcl.graphs import Graphs

SHOWN = 60
"""Number of characters of an invalid SMILES that messages show."""
MAX_ATOMS = 4096
"""Largest molecule; its bond matrix temporarily takes 128 MiB."""
AT_A_TIME = 4096
"""Number of molecules per task of a worker process."""
MANY = 20_000
"""From this number on, all cores are used by default; starting processes takes seconds."""


def featurise(smiles: Sequence[str | None], *, jobs: int | None = None) -> tuple[Graphs, list[Invalid]]:
    """Return one graph per valid SMILES, in order, and the invalid rows.

    ``x`` ``[N, 2]`` is categorical: the atomic number minus 1, and 120 plus the chirality. ``edge_attr`` ``[E, 2]`` is
    the same for both directions of a bond: its type from 1, and its direction next to a stereo double bond, 0 for none.
    Hydrogens are omitted unless RDKit keeps them, as it does for isotopes.

    ``jobs`` is the number of processes, -1 for one per core; by default, all cores are used only for many molecules.
    """
    if jobs is None:
        jobs = 1 if len(smiles) < MANY else -1
    parts = list(_parts(smiles, jobs))
    flat = _Flat(*(np.concatenate(arrays) for arrays in zip(_NONE, *(flat for flat, _ in parts), strict=True)))
    return _graphs(flat), [bad for _, invalid in parts for bad in invalid]


def featurise_in_parts(smiles: Iterable[str | None], *, jobs: int = -1) -> Iterator[tuple[Graphs, list[Invalid]]]:
    """Yield graphs and invalid rows in parts, for more molecules than fit in memory."""
    for flat, invalid in _parts(smiles, jobs):
        yield _graphs(flat), invalid


class _RefusedError(Exception):
    """The reason why a row is not a valid molecule."""


@dataclass
class _Listed:
    """Collects molecules as flat arrays.

    RDKit's calls for single atoms and bonds take most of the time. Bonds are therefore read from one matrix per
    molecule, which also lists them sorted and in both directions.
    """

    sizes: array = field(default_factory=lambda: array("q"))
    atoms: array = field(default_factory=lambda: array("B"))
    chirality: array = field(default_factory=lambda: array("B"))
    edge_counts: array = field(default_factory=lambda: array("q"))
    edges: list[np.ndarray] = field(default_factory=list)
    bonds: list[np.ndarray] = field(default_factory=list)

    def add(self, chem: Any, text: Any) -> None:
        """Append one molecule, or raise without appending anything."""
        molecule = _parsed(chem, text)
        atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]  # 40 % less time than GetAtoms()
        numbers = bytes([atom.GetAtomicNum() for atom in atoms])
        if 0 in numbers:
            raise _RefusedError(f"atom {numbers.index(0) + 1} is not an element")
        matrix = chem.GetAdjacencyMatrix(molecule, useBO=True)
        matrix = np.maximum(matrix, matrix.T)  # a dative bond occupies only one of its two entries
        orders = matrix.ravel()
        place = np.flatnonzero(orders)
        if len(place) != 2 * molecule.GetNumBonds() or not TYPES.keys() >= set(orders[place].tolist()):
            raise _RefusedError("a bond is neither single, double, triple nor aromatic")
        # Only these characters can give a bond direction or chiral tag; most molecules have neither.
        if "/" in text or "\\" in text or "|" in text:
            for bond in molecule.GetBonds():
                begin, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
                matrix[[begin, end], [end, begin]] += DIRECTED * DIRECTION[bond.GetBondDir()]
        tagged = "@" in text or "|" in text
        chirality = bytes([atom.GetChiralTag() for atom in atoms] if tagged else len(atoms))
        self.sizes.append(len(atoms))
        self.atoms.frombytes(numbers)
        self.chirality.frombytes(chirality)
        self.edge_counts.append(len(place))
        self.edges.append(place)
        self.bonds.append(matrix.ravel()[place])

    def flat(self) -> "_Flat":
        """Return all molecules in compact types, for the transfer between processes."""
        sizes, counts = np.array(self.sizes, np.int64), np.array(self.edge_counts, np.int64)
        rows, columns = np.divmod(np.concatenate([_NO_EDGE, *self.edges]), np.repeat(sizes, counts))
        direction, order = np.divmod(np.concatenate([_NO_EDGE, *self.bonds]), DIRECTED)
        kinds = _TYPE[(2 * order).astype(np.int64)]
        chirality = CHIRALITY[np.frombuffer(self.chirality, np.uint8)]
        return _Flat(
            sizes=sizes,
            counts=counts,
            atoms=np.stack([np.frombuffer(self.atoms, np.uint8) - 1, ATOMS + chirality], 1).astype(np.uint8),
            edges=np.stack([columns, rows], 1).astype(np.uint16),
            bonds=np.stack([kinds, direction], 1).astype(np.uint8),
        )


class _Flat(NamedTuple):
    """Numbers ``[M]`` of atoms and edges; features of atoms; edges, numbered within each molecule; bond features."""

    sizes: np.ndarray
    counts: np.ndarray
    atoms: np.ndarray
    edges: np.ndarray
    bonds: np.ndarray


def _parts(smiles: Iterable[str | None], jobs: int) -> Iterator[tuple[_Flat, list[Invalid]]]:
    """Yield parts in order; the rows of invalid SMILES are counted over all parts."""
    from joblib import Parallel, delayed

    texts = iter(smiles)
    lengths: list[int] = []

    def given() -> Iterator[list[str | None]]:
        while part := list(islice(texts, AT_A_TIME)):
            lengths.append(len(part))
            yield part

    found = Parallel(n_jobs=jobs, return_as="generator")(delayed(_featurised)(part) for part in given())
    first = 0
    for number, (flat, invalid) in enumerate(found):
        yield flat, [bad._replace(row=bad.row + first) for bad in invalid]
        first += lengths[number]


def _featurised(smiles: Sequence[str | None]) -> tuple[_Flat, list[Invalid]]:
    """Convert one part, in one process."""
    listed, invalid = _Listed(), []
    with rdkit() as chem:
        for row, text in enumerate(smiles):
            try:
                listed.add(chem, text)
            except _RefusedError as refused:
                invalid.append(Invalid(row, _shown(text), str(refused)))
            except (RuntimeError, ValueError):  # a failure inside RDKit should cost only one row
                invalid.append(Invalid(row, _shown(text), "RDKit fails on it"))
    return listed.flat(), invalid


def _graphs(flat: _Flat) -> Graphs:
    node_ptr = np.concatenate([[0], np.cumsum(flat.sizes)])
    edges = flat.edges.T + np.repeat(node_ptr[:-1], flat.counts)
    return Graphs.build(
        torch.from_numpy(edges),
        torch.from_numpy(node_ptr),
        x=torch.from_numpy(flat.atoms.astype(np.int64)),
        num_features=ATOMS + CHIRALITIES,
        edge_attr=torch.from_numpy(flat.bonds.astype(np.int64)),
    )


DIRECTED = 8.0
"""Added to the bond order in the matrix, once for up and twice for down; it exceeds all orders."""
_TYPE = np.array([TYPES.get(twice / 2, 0) for twice in range(7)])
"""The type of a bond, indexed by twice its order, which is an integer."""
_NO_EDGE = np.zeros(0, np.int64)
_NONE = _Listed().flat()


def _parsed(chem: Any, text: Any) -> Any:
    """Return RDKit's molecule; raise with the reason if there is none."""
    if not isinstance(text, str):
        # pandas has NaN or NA in empty cells; NA has no truth value, so that comparing it fails.
        empty = text is None or type(text).__name__ == "NAType" or (isinstance(text, float) and math.isnan(text))
        raise _RefusedError("it is empty" if empty else "it is not text")
    if not text.strip():
        raise _RefusedError("it is empty")
    if not text.isascii():  # RDKit would silently stop at the first such character
        raise _RefusedError("it is not plain ASCII")
    molecule = chem.MolFromSmiles(text)
    if molecule is not None:
        if not 0 < molecule.GetNumAtoms() <= MAX_ATOMS:
            raise _RefusedError(f"it has {molecule.GetNumAtoms()} atoms; 1 to {MAX_ATOMS} are read")
        return molecule
    unchecked = chem.MolFromSmiles(text, sanitize=False)
    problems = chem.DetectChemistryProblems(unchecked) if unchecked is not None else ()
    raise _RefusedError(" ".join(problems[0].Message().split()) if problems else "it is not a SMILES")


def _shown(text: Any) -> str:
    text = "" if text is None else printable(str(text))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
