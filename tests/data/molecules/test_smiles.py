import builtins
import lzma
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

from nmrgcl.data.molecules import featurise, featurise_in_parts
from nmrgcl.encode.molecule import BONDS, MoleculeGIN
from nmrgcl.errors import DataError
from nmrgcl.store import open_store, write_store

CW, CCW = 1, 2
SINGLE, DOUBLE, TRIPLE, AROMATIC = 1, 2, 3, 4
UP, DOWN = 1, 2

# Atomic numbers; chirality where there is any, by atom; bonds as (begin, end, type, direction).
BY_HAND: dict[str, tuple[list[int], dict[int, int], list[tuple[int, int, int, int]]]] = {
    "c1ccccc1": ([6] * 6, {}, [*((i, i + 1, AROMATIC, 0) for i in range(5)), (0, 5, AROMATIC, 0)]),
    "C1=CC=CC=C1": ([6] * 6, {}, [*((i, i + 1, AROMATIC, 0) for i in range(5)), (0, 5, AROMATIC, 0)]),
    "C[N+](C)(C)C": ([6, 7, 6, 6, 6], {}, [(1, i, SINGLE, 0) for i in (0, 2, 3, 4)]),
    "N[C@@](F)(C)Cl": ([7, 6, 9, 6, 17], {1: CW}, [(1, i, SINGLE, 0) for i in (0, 2, 3, 4)]),
    "N[C@](F)(C)Cl": ([7, 6, 9, 6, 17], {1: CCW}, [(1, i, SINGLE, 0) for i in (0, 2, 3, 4)]),
    "F/C=C/F": ([9, 6, 6, 9], {}, [(0, 1, SINGLE, UP), (1, 2, DOUBLE, 0), (2, 3, SINGLE, UP)]),
    "F/C=C\\F": ([9, 6, 6, 9], {}, [(0, 1, SINGLE, UP), (1, 2, DOUBLE, 0), (2, 3, SINGLE, DOWN)]),
    "[Na+].CC(=O)[O-]": ([11, 6, 6, 8, 8], {}, [(1, 2, SINGLE, 0), (2, 3, DOUBLE, 0), (2, 4, SINGLE, 0)]),
    "O": ([8], {}, []),
    "[H]OC": ([8, 6], {}, [(0, 1, SINGLE, 0)]),  # RDKit makes such hydrogens implicit,
    "[H][H]": ([1, 1], {}, [(0, 1, SINGLE, 0)]),  # but not these,
    "[2H]C#N": ([1, 6, 7], {}, [(0, 1, SINGLE, 0), (1, 2, TRIPLE, 0)]),  # nor deuterium.
    "[13CH3]O": ([6, 8], {}, [(0, 1, SINGLE, 0)]),
    "Cl[Pt](Cl)([NH3])[NH3]": ([17, 78, 17, 7, 7], {}, [(1, i, SINGLE, 0) for i in (0, 2, 3, 4)]),  # two are dative
    "[Og]": ([118], {}, []),
}

INVALID = {
    "": "it is empty",
    "  ": "it is empty",
    "FAIL": "it is not a SMILES",
    "C(": "it is not a SMILES",
    "CO(C)C": "Explicit valence for atom # 1 O, 3, is greater than permitted",
    "c1cccc1": "Can't kekulize mol. Unkekulized atoms: 0 1 2 3 4",
    "CC*": "atom 3 is not an element",
    "C~C": "a bond is neither single, double, triple nor aromatic",
    "C$C": "a bond is neither single, double, triple nor aromatic",
    "Cé": "it is not plain ASCII",
    "C" * 4097: "it has 4097 atoms; 1 to 4096 are read",
}


@pytest.mark.parametrize("smiles", BY_HAND)
def test_graphs_by_hand(smiles: str) -> None:
    atoms, chirality, bonds = BY_HAND[smiles]
    graphs, invalid = featurise([smiles])
    assert not invalid
    assert graphs.x.tolist() == [[z - 1, 120 + chirality.get(i, 0)] for i, z in enumerate(atoms)]
    expected = {(i, j): [kind, way] for a, b, kind, way in bonds for i, j in ((a, b), (b, a))}
    assert graphs.edge_attr is not None
    found = dict(zip(map(tuple, graphs.edge_index.T.tolist()), graphs.edge_attr.tolist(), strict=True))
    assert found == expected


def test_invalid_rows_are_left_out_with_their_reason(capfd: pytest.CaptureFixture[str]) -> None:
    mixed = [text for pair in zip(INVALID, ["CCO"] * len(INVALID), strict=True) for text in pair]
    graphs, invalid = featurise([*mixed, None])
    assert [(bad.row, bad.reason) for bad in invalid] == [
        *((2 * i, reason) for i, reason in enumerate(INVALID.values())),
        (len(mixed), "it is empty"),
    ]
    assert graphs.node_ptr.diff().tolist() == [3] * len(INVALID)
    assert graphs.x[:3, 0].tolist() == [5, 5, 7]
    assert invalid[len(INVALID) - 1].text == "C" * 59 + "…"
    assert capfd.readouterr() == ("", "")  # RDKit prints such things from C++


def test_rows_that_are_not_text_are_invalid() -> None:
    rows: list[Any] = [float("nan"), 3, "C", b"C"]
    graphs, invalid = featurise(rows)
    assert [(bad.row, bad.text, bad.reason) for bad in invalid] == [
        (0, "nan", "it is empty"),
        (1, "3", "it is not text"),
        (3, "b'C'", "it is not text"),
    ]
    assert len(graphs) == 1


def test_a_failure_inside_rdkit_costs_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Chem.MolFromSmiles

    def failing(text: str, **options: Any) -> Any:
        if text == "CC":
            raise RuntimeError("Pre-condition Violation\nbad")
        return read(text, **options)

    monkeypatch.setattr(Chem, "MolFromSmiles", failing)
    graphs, invalid = featurise(["C", "CC", "CCC"])
    assert [(bad.row, bad.reason) for bad in invalid] == [(1, "RDKit fails on it")]
    assert graphs.node_ptr.tolist() == [0, 1, 4]


@given(st.lists(st.text() | st.text("CNOc1()[]@/\\=#+-*.|:$~ ", max_size=12), max_size=5))
def test_any_text_is_a_molecule_or_invalid(texts: list[str]) -> None:
    graphs, invalid = featurise(texts)
    assert len(graphs) + len(invalid) == len(texts)
    assert all(bad.reason and bad.text.isprintable() for bad in invalid)
    assert graphs.symmetric


def test_molecules_do_not_depend_on_their_neighbours() -> None:
    smiles = list(BY_HAND)
    together, _ = featurise(smiles)
    for number, text in enumerate(smiles):
        alone, _ = featurise([text])
        taken = together.take(torch.tensor([number]))
        for name in ("x", "edge_index", "edge_attr", "row_ptr", "pair"):
            assert torch.equal(getattr(alone, name), getattr(taken, name))


def test_parts_and_processes_change_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    smiles = [*BY_HAND, *INVALID, *BY_HAND]
    whole, invalid = featurise(smiles)
    monkeypatch.setattr("nmrgcl.data.molecules.smiles.AT_A_TIME", 7)
    shared, shared_invalid = featurise(smiles, jobs=2)
    parts = list(featurise_in_parts(iter(smiles), jobs=1))
    assert len(parts) == 6
    assert invalid == shared_invalid == [bad for _, refused in parts for bad in refused]
    write_store(tmp_path / "store", (graphs for graphs, _ in parts))
    stored = open_store(tmp_path / "store").graphs()
    for name in ("x", "edge_index", "edge_attr", "row_ptr", "node_ptr", "pair"):
        assert torch.equal(getattr(whole, name), getattr(shared, name))
        assert torch.equal(getattr(whole, name), getattr(stored, name))
    assert whole.num_features == stored.num_features == 123


def test_no_molecules_are_no_graphs() -> None:
    graphs, invalid = featurise([])
    assert (graphs.num_graphs, graphs.num_nodes, graphs.num_edges, invalid) == (0, 0, 0, [])


def test_the_molecular_encoder_reads_them() -> None:
    graphs, _ = featurise(list(BY_HAND))
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.amax(0).tolist() == list(BONDS)  # every type and direction occurs above
    rows = MoleculeGIN(graphs.num_features, layers=2, units=8)(graphs)
    assert rows.shape == (graphs.num_nodes, 8)
    # What differs only in chirality or direction must differ in the embedding.
    first = dict(zip(BY_HAND, graphs.node_ptr.tolist(), strict=False))
    assert not torch.allclose(rows[first["N[C@@](F)(C)Cl"] + 1], rows[first["N[C@](F)(C)Cl"] + 1])
    assert not torch.allclose(rows[first["F/C=C/F"] + 2], rows[first["F/C=C\\F"] + 2])


def test_atoms_and_bonds_equal_those_of_pyg(mirror: Path) -> None:
    smiles_of = pytest.importorskip("torch_geometric.utils").from_smiles
    file = mirror / "zinc" / "zinc250k.smi.xz"
    if not file.is_file():
        pytest.skip(f"{file} is not in the mirror")
    with lzma.open(file, "rt") as lines:
        smiles = [line.strip() for line in islice(lines, 2000)]
    graphs, invalid = featurise(smiles)
    assert not invalid
    theirs = [smiles_of(text) for text in smiles]
    x = torch.cat([data.x for data in theirs])
    assert torch.equal(graphs.x, x[:, :2] + torch.tensor([-1, 120]))
    assert graphs.node_ptr.diff().tolist() == [data.num_nodes for data in theirs]
    # They sort by source, then destination; the two directions of a bond are alike.
    shifted = [data.edge_index.flip(0) + start for data, start in zip(theirs, graphs.node_ptr.tolist(), strict=False)]
    assert torch.equal(graphs.edge_index, torch.cat(shifted, 1))
    kinds = torch.cat([data.edge_attr[:, 0] for data in theirs])
    assert graphs.edge_attr is not None
    assert torch.equal(graphs.edge_attr[:, 0], torch.where(kinds == 12, 4, kinds))
    assert torch.equal(graphs.edge_attr[:, 1], _directions(smiles))


def _directions(smiles: list[str]) -> torch.Tensor:
    """Slow definition: look up the bond between the ends of each directed edge."""
    code = {Chem.BondDir.ENDUPRIGHT: UP, Chem.BondDir.ENDDOWNRIGHT: DOWN}
    found = []
    for molecule in map(Chem.MolFromSmiles, smiles):
        for atom in molecule.GetAtoms():
            bonds = {bond.GetOtherAtomIdx(atom.GetIdx()): bond for bond in atom.GetBonds()}
            found += [code.get(bonds[other].GetBondDir(), 0) for other in sorted(bonds)]
    return torch.tensor(found)


def test_without_rdkit_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("rdkit"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"^reading SMILES needs RDKit; pip install 'nmrgcl\[chem\]'$"):
        featurise(["C"])
