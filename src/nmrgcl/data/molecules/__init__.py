"""Molecules: SMILES, and the files that list them, as graphs of atoms and bonds."""

from nmrgcl.data.molecules.featurise import Invalid, featurise
from nmrgcl.data.molecules.read import Molecules, read_molecules
from nmrgcl.data.molecules.splits import split_molecules

__all__ = ["Invalid", "Molecules", "featurise", "read_molecules", "split_molecules"]
