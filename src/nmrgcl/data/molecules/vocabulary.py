"""The atom and bond types of Hu et al. 2020, numbered as ``encode.molecule`` expects them."""

import numpy as np

ATOMS, CHIRALITIES = 120, 3
"""Sizes of the two embedding tables. Atom types are the elements 1 to 118; the last two can be used as masks."""

BONDS = (4, 2)
"""Numbers of values in ``edge_attr``: types (single, double, triple, aromatic) and directions (up, down)."""

TYPES = {1.0: 1, 2.0: 2, 3.0: 3, 1.5: 4}
"""The type of a bond by its order: single, double, triple, aromatic. A dative bond, with order 1, counts as single."""

CHIRALITY = np.array([0, 1, 2, 0, 0, 0, 0, 0, 0])
"""RDKit's chiral tags as unspecified (0), clockwise (1) or counter-clockwise (2); other kinds count as unspecified."""

DIRECTION = np.array([0, 0, 0, 2, 1, 0, 0])
"""RDKit's bond directions as none (0), end up right (1) or end down right (2)."""
