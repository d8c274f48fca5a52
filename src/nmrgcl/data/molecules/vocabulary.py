"""The atoms and bonds that Hu et al. 2020 tell apart, numbered as ``encode.molecule`` expects them."""

import numpy as np

ATOMS, CHIRALITIES = 120, 3
"""Rows of the two embedding tables. Atom types are the elements 1 to 118; the rest is room for a mask."""

BONDS = (4, 2)
"""Values of the columns of ``edge_attr``: types (single, double, triple, aromatic) and directions (up, down)."""

TYPES = {1.0: 1, 2.0: 2, 3.0: 3, 1.5: 4}
"""Order of a bond → type: single, double, triple, aromatic. A dative bond has order 1 and counts as single."""

CHIRALITY = np.array([0, 1, 2, 0, 0, 0, 0, 0, 0])
"""RDKit's chiral tags → unspecified, clockwise, counter-clockwise; other kinds of chirality count as unspecified."""

DIRECTION = np.array([0, 0, 0, 2, 1, 0, 0])
"""RDKit's bond directions → none, 1 (end up right), 2 (end down right)."""
