"""Molecules: SMILES, and the files that list them, as graphs of atoms and bonds."""

from nmrgcl.data.molecules.featurise import Invalid, featurise

__all__ = ["Invalid", "featurise"]
