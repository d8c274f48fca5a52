"""RDKit, which is an optional extra: imported on first use, and silent."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nmrgcl.errors import DataError


@contextmanager
def rdkit() -> Iterator[Any]:
    """The module ``rdkit.Chem``; what RDKit would print about bad molecules is suppressed inside the block."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise DataError("reading SMILES needs RDKit; pip install 'nmrgcl[chem]'") from None
    with rdBase.BlockLogs():
        yield Chem
