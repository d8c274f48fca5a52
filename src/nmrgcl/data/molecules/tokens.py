"""Encode graphs of molecules as sequences of small numbers, which compress about as well as SMILES.

The sequence lists the atoms in order. An atom is one number for its type and chirality, followed by one number for each
bond to an earlier atom, nearest last: the distance to that atom, and the type and direction of the bond.
"""

from typing import NamedTuple

import numpy as np
import torch

from nmrgcl.data.molecules.smiles import MAX_ATOMS
from nmrgcl.data.molecules.vocabulary import ATOMS, BONDS, CHIRALITIES
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

FIRST_BOND = ATOMS * CHIRALITIES
"""Numbers below are atoms, the others bonds."""
TYPES, DIRECTIONS = BONDS[0], BONDS[1] + 1
END = FIRST_BOND + MAX_ATOMS * TYPES * DIRECTIONS
"""Upper bound of all numbers, which fit in 16 bits."""


class Tokens(NamedTuple):
    """The number of atoms of each molecule, ``[M]``, and the concatenated sequences."""

    sizes: np.ndarray
    numbers: np.ndarray


def to_tokens(graphs: Graphs) -> Tokens:
    """Encode graphs made by ``featurise``."""
    if graphs.edge_attr is None:
        raise DataError("these graphs have no bonds, so they are not molecules; create them from SMILES")
    source, destination = graphs.edge_index.numpy()
    x, bonds = graphs.x.numpy(), graphs.edge_attr.numpy()
    if not graphs.symmetric or (source == destination).any() or (bonds != bonds[graphs.pair.numpy()]).any():
        raise DataError("a bond differs between its two directions; create the graphs from SMILES")
    back = source < destination  # sorted by destination, then source: atom after atom, nearest last
    step, (kind, direction) = (destination - source)[back], bonds[back].T
    atoms = x[:, 0] * CHIRALITIES + x[:, 1] - ATOMS
    links = FIRST_BOND + ((step - 1) * TYPES + kind - 1) * DIRECTIONS + direction
    if len(step) and (step.max() > MAX_ATOMS or kind.min() < 1):
        raise DataError("a bond has no type or joins atoms that are too far apart; create the graphs from SMILES")
    before = np.bincount(destination[back], minlength=len(x)).cumsum()
    is_atom = np.zeros(len(atoms) + len(links), bool)
    is_atom[np.arange(len(atoms)) + np.concatenate([[0], before[:-1]])[: len(atoms)]] = True
    numbers = np.empty(len(is_atom), np.uint16)
    numbers[is_atom], numbers[~is_atom] = atoms, links
    return Tokens(graphs.node_ptr.diff().numpy(), numbers)


def from_tokens(tokens: Tokens) -> Graphs:
    """Decode sequences; raise ValueError if they are not valid molecules."""
    sizes, numbers = tokens.sizes.astype(np.int64), tokens.numbers.astype(np.int64)
    is_atom = numbers < FIRST_BOND
    atoms, links = numbers[is_atom], numbers[~is_atom] - FIRST_BOND
    if sizes.size == 0 or sizes.min() < 1 or sizes.sum() != len(atoms) or not is_atom[0] or numbers.max() >= END:
        raise ValueError("the sizes do not match the atoms")
    owner = (np.cumsum(is_atom) - 1)[~is_atom]
    node_ptr = np.concatenate([[0], np.cumsum(sizes)])
    rest, direction = np.divmod(links, DIRECTIONS)
    step, kind = np.divmod(rest, TYPES)
    source = owner - step - 1
    if (source < np.repeat(node_ptr[:-1], sizes)[owner]).any():
        raise ValueError("a bond leads out of its molecule")
    if ((np.diff(owner) == 0) & (np.diff(source) <= 0)).any():
        raise ValueError("the bonds of an atom are not in order")
    edges = np.stack([np.concatenate([source, owner]), np.concatenate([owner, source])])
    bonds = np.stack([kind + 1, direction], 1)
    kind_of_atom, chirality = np.divmod(atoms, CHIRALITIES)
    return Graphs.build(
        torch.from_numpy(edges),
        torch.from_numpy(node_ptr),
        x=torch.from_numpy(np.stack([kind_of_atom, ATOMS + chirality], 1)),
        num_features=ATOMS + CHIRALITIES,
        edge_attr=torch.from_numpy(np.concatenate([bonds, bonds])),
    )
