"""Read what the methods of the package declare from their source, because importing them loads torch.

Presets, options and the like are written as constants, so that parsing the files is enough to list the methods and to
recognise a misspelt setting.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nmrgcl import reading

_HERE = Path(__file__).parent
_Class = tuple[str, ast.ClassDef]
"""A class and the module in which it is defined."""


@dataclass(frozen=True)
class Declared:
    """What a method declares.

    Attributes:
        summary: the first line of its description.
        family: the kind of method.
        presets: the levels at which it can embed, and the default preset for each.
        options: the names of its options.
    """

    summary: str
    family: str | None
    presets: dict[str, str]
    options: tuple[str, ...]


def is_packaged(name: str) -> bool:
    """Return True if ``name`` is a method of the package."""
    return name.isidentifier() and not name.startswith("_") and _file(f"nmrgcl.methods.{name}").exists()


@cache
def declared(name: str) -> Declared:
    """Return what a method of the package declares."""
    module = f"nmrgcl.methods.{name}"
    (method,) = (value for known, _, value in _assigned(_tree(module)) if known == "METHOD")
    lineage = list(_lineage(module, ast.unparse(method)))
    presets = ast.literal_eval(_first(lineage, "PRESETS")[2])
    if any(kind.name == "MoleculePretraining" for _, kind in lineage):
        presets = {"molecule": presets["graph"]}
    about = _first(lineage, "ABOUT")[2]
    described = {one.arg: one.value for one in about.keywords} if isinstance(about, ast.Call) else {}
    family = ast.literal_eval(described["family"]) if "family" in described else None
    place, hint, _ = _first(lineage, "options")
    # The fields of the most basic class come first, as in a dataclass.
    classes = reversed(list(_lineage(place, ast.unparse(hint))))
    options = dict.fromkeys(field for _, kind in classes for field, hint, _ in _assigned(kind) if hint)
    summary = (ast.get_docstring(lineage[0][1]) or "").partition("\n")[0]
    return Declared(summary, family, presets, tuple(options))


def _first(lineage: list[_Class], name: str) -> tuple[str, Any, Any]:
    """Return the module, annotation and value of a class variable where it is first assigned."""
    return next((module, *found[1:]) for module, kind in lineage for found in _assigned(kind) if found[0] == name)


def _assigned(scope: ast.Module | ast.ClassDef) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, annotation and value of the variables of a module or class."""
    for node in scope.body:
        if isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), node.annotation, node.value
        elif isinstance(node, ast.Assign):
            yield from ((ast.unparse(target), None, node.value) for target in node.targets)


def _lineage(module: str, name: str) -> Iterator[_Class]:
    """Yield a class of the package, then the classes it is derived from."""
    if found := _find(module, name):
        yield found
        for base in found[1].bases:
            yield from _lineage(found[0], ast.unparse(base))


def _find(module: str, name: str) -> _Class | None:
    """Find the class that a module calls ``name``; None for classes of other packages."""
    first, _, rest = name.partition(".")
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("nmrgcl."):
            for known in (one for one in node.names if (one.asname or one.name) == first):
                return _find(f"{node.module}.{known.name}", rest) if rest else _find(str(node.module), known.name)
    return None


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(reading.read_text(_file(module)))


def _file(module: str) -> Path:
    path = _HERE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
