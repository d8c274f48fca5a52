"""Import RDKit, an optional dependency, and silence it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nmrgcl.errors import DataError


@contextmanager
def rdkit() -> Iterator[Any]:
    """Yield the module ``rdkit.Chem``, with RDKit's log messages about invalid molecules suppressed."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise DataError("reading SMILES needs RDKit; pip install 'nmrgcl[chem]'") from None
    with rdBase.BlockLogs():
        yield Chem
