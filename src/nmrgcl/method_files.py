"""The files of methods: each file in ``nmrgcl/methods`` that ends in ``METHOD = …`` is one, named as the file is."""

import sys
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from nmrgcl.errors import SettingError, nearest


@dataclass(frozen=True)
class NoOptions:
    """The options of a method that has none of its own."""


def method_names() -> list[str]:
    """Every method there is."""
    files = (path for folder in import_module("nmrgcl.methods").__path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def load_method(name: str) -> type[Any]:
    """The class that the file of the method ``name`` ends with."""
    module = sys.modules.get(f"nmrgcl.methods.{name}")
    if module is None:
        if name not in method_names():
            raise SettingError(f"unknown method {name!r}; {nearest(name, method_names())}")
        module = import_module(f"nmrgcl.methods.{name}")
    found = getattr(module, "METHOD", None)
    if not isinstance(found, type) or "options" not in _hints(found):
        raise SettingError(f"{module.__file__}: names no method; end it with METHOD = and a subclass of Method")
    return found


def options_class(method: str) -> type[Any]:
    """The dataclass of the options that only this method has: the type of its attribute ``options``."""
    kind = load_method(method)
    found = _hints(kind)["options"]  # type: ignore[arg-type]  # mypy: a class is hashable
    if found is Any:
        return NoOptions
    if not is_dataclass(found) or not isinstance(found, type):
        raise SettingError(f"{sys.modules[kind.__module__].__file__}: its options must be a frozen dataclass")
    return found


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)
