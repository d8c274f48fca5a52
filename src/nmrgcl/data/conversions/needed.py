"""Libraries that are installed only where somebody wants them."""

from importlib import import_module
from typing import Any

from nmrgcl.errors import DataError


def needed(module: str, library: str, extra: str) -> Any:
    """The module; without it, one line that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(f"this needs {library}, which is not installed; pip install 'nmrgcl[{extra}]'") from None
