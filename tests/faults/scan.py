"""The package's own sources, searched for whatever could run what is in a file."""

import ast
from pathlib import Path

import nmrgcl

PACKAGE = Path(nmrgcl.__file__).parent
_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal", "yaml"}
_CALLS = {"torch_load", "unsafe_load", "full_load", "read_pickle", "extractall", "unpack_archive"}


def suspicious(source: str) -> list[str]:
    """``line: what`` for every use of a loader that runs, or writes where a file says."""
    found = []
    for node in ast.walk(ast.parse(source)):
        what = _import(node) or _call(node)
        if what:
            found.append(f"{getattr(node, 'lineno', 0)}: {what}")
    return found


NAMED = {"own_code.py": ["exec"], "data/formats/planetoid_pickles.py": ["import pickle"]}
"""The two places that run what is in a file, each only while the file's digest is a known one.

They are a file that the user has named, with the digest of then, and the published files of Planetoid.
"""


def scan() -> dict[str, list[str]]:
    """Files of the package with something suspicious in them."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: suspicious(path.read_text(encoding="utf-8")) for name, path in files.items()}
    return {
        name: lines
        for name, lines in found.items()
        if [line.partition(": ")[2] for line in lines] != NAMED.get(name, [])
    }


def _import(node: ast.AST) -> str | None:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    else:
        return None
    return next((f"import {name}" for name in names if name.partition(".")[0] in _MODULES), None)


def _call(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    called = ast.unparse(node.func)
    last = called.rpartition(".")[2]
    if called in ("torch.load", "joblib.load", "eval", "exec") or last in _CALLS:
        return called
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg == "allow_pickle" and value is not False:
            return f"{called}(allow_pickle=…)"
    return None
