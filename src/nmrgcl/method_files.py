"""Find methods: each file in ``nmrgcl/methods`` that ends with ``METHOD = …`` is one, named after the file.

A user's file can be a method too; it is identified by its reference (see ``own_code``).
"""

import inspect
import sys
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from nmrgcl import own_code
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_source import declared, is_packaged

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class NoOptions:
    """The options of a method without options."""


def method_names() -> list[str]:
    """Return the methods of the package, without loading torch.

    Example:
        >>> from nmrgcl import method_names
        >>> "nmrgcl" in method_names(), "wl" in method_names()
        (True, True)
    """
    return sorted(path.stem for path in _method_files())


def option_names() -> set[str]:
    """Return the options of all methods, without loading torch."""
    return {option for method in method_names() for option in options_of(method)}


def options_of(method: str) -> tuple[str, ...]:
    """Return the names of a method's options; only a user's file is executed for that."""
    return declared(method).options if is_packaged(method) else tuple(options_class(method).__dataclass_fields__)


def _method_files() -> list[Path]:
    package = sys.modules.get("nmrgcl.methods")
    folders = package.__path__ if package else [str(_HERE / "methods")]
    return [path for folder in folders for path in Path(folder).glob("*.py") if not path.stem.startswith("_")]


def method_reference(method: str | type[Any]) -> str:
    """Return how settings refer to a method that a user has given by name, file or class.

    The file will be executed, so this must only be called with what the user typed, never with names from files.
    """
    if isinstance(method, str):
        return own_code.remember(Path(method).expanduser()) if own_code.is_path(method) else method
    if method.__module__.startswith("nmrgcl.methods."):
        return method.__module__.rpartition(".")[2]
    module = sys.modules.get(method.__module__)
    file = getattr(module, "__file__", None)
    if file and getattr(module, "METHOD", None) is method and method.__module__ != "__main__":
        return own_code.remember(file)
    alone = ModuleType(method.__module__)
    alone.METHOD = method  # type: ignore[attr-defined]
    try:
        source = inspect.getsource(method)
    except (OSError, TypeError):
        source = method.__qualname__
    return own_code.remember_module(method.__name__, alone, source)


def load_method(name: str) -> type[Any]:
    """Return the class of a method."""
    module = own_code.load_code(name) if own_code.is_reference(name) else _packaged(name)
    found = getattr(module, "METHOD", None)
    if not isinstance(found, type) or "options" not in _hints(found):
        file = own_code.origin(name) if own_code.is_reference(name) else module.__file__
        raise SettingError(f"{file}: defines no method; end it with METHOD = a subclass of Pretraining or Embedder")
    return found


def _packaged(name: str) -> ModuleType:
    module = sys.modules.get(f"nmrgcl.methods.{name}")
    if module is not None:
        return module
    if own_code.is_path(name):
        raise SettingError(f"{name}: a file can only be given with --method, or with method= in Python")
    if name not in method_names():
        raise SettingError(f"unknown method {name!r}; {nearest(name, method_names())}")
    try:
        return import_module(f"nmrgcl.methods.{name}")
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise SettingError(f"method {name} cannot be imported: {type(error).__name__}: {words}") from None


def options_class(method: str) -> type[Any]:
    """Return the dataclass of a method's options, which is the type of its attribute ``options``."""
    kind = load_method(method)
    found = _hints(kind)["options"]  # type: ignore[arg-type]  # mypy: a class is hashable
    if found is Any:
        return NoOptions
    if not is_dataclass(found) or not isinstance(found, type):
        raise SettingError(f"method {own_code.label(method)}: its options must be a frozen dataclass")
    return found


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)
