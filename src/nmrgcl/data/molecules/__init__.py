"""Convert SMILES, and files of them, to graphs of atoms and bonds."""

from nmrgcl.data.molecules.read import Molecules, read_molecules
from nmrgcl.data.molecules.smiles import Invalid, featurise, featurise_in_parts
from nmrgcl.data.molecules.splits import split_molecules

__all__ = ["Invalid", "Molecules", "featurise", "featurise_in_parts", "read_molecules", "split_molecules"]
