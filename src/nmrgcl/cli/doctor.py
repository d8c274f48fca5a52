"""``nmrgcl doctor``."""

import json
import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from nmrgcl import __version__
from nmrgcl.cli.options import AsJson
from nmrgcl.home import home

NEEDED = ("torch", "numpy", "scipy", "scikit-learn", "joblib", "safetensors", "typer", "rich")
OPTIONAL = {
    "torch-geometric": "PyG data in and out: pip install torch-geometric",
    "networkx": "NetworkX graphs in and out: pip install networkx",
    "grakel": "the bundled MUTAG: pip install grakel",
    "msgspec": "graphs as JSON lines: pip install msgspec",
    "pyarrow": "edge lists as CSV, tables of molecules, embeddings as .parquet: pip install pyarrow",
    "rdkit": "molecules as SMILES: pip install rdkit",
    "pooch": "downloads of datasets: pip install pooch",
}


def doctor(as_json: AsJson = False) -> None:
    """Check the installation: what is there, what is missing, and what to do about it.

    Exits with 1 if something needed is missing.

    Examples:

      nmrgcl doctor
    """
    checks = [*_packages(), *_device(), *_folders()]
    if as_json:
        print(json.dumps({"ok": all(c["ok"] or c["optional"] for c in checks), "checks": checks}))
    else:
        for check in checks:
            mark = "ok" if check["ok"] else "–" if check["optional"] else "MISSING"
            print(f"{mark:<8} {check['name']:<16} {check['found']}")
    if not all(check["ok"] or check["optional"] for check in checks):
        raise typer.Exit(1)


def _check(name: str, ok: bool, found: str, *, optional: bool = False) -> dict[str, Any]:
    return {"name": name, "ok": ok, "optional": optional, "found": found}


def _packages() -> list[dict[str, Any]]:
    checks = [_check("python", True, platform.python_version()), _check("nmrgcl", True, __version__)]
    for name in (*NEEDED, *OPTIONAL):
        try:
            checks.append(_check(name, True, version(name), optional=name in OPTIONAL))
        except PackageNotFoundError:
            remedy = OPTIONAL.get(name, f"pip install {name}")
            checks.append(_check(name, False, f"not installed; {remedy}", optional=name in OPTIONAL))
    return checks


def _device() -> list[dict[str, Any]]:
    try:
        import torch
    except (ImportError, OSError) as error:
        return [_check("device", False, f"torch does not load: {str(error).splitlines()[0]}")]
    if torch.cuda.is_available():
        return [_check("device", True, torch.cuda.get_device_name())]
    found = f"CPU, {os.cpu_count()} cores; no CUDA device"
    return [_check("device", True, found)]


def _folders() -> list[dict[str, Any]]:
    where = home()
    checks = [_check("cache", _writable(where), f"{where}" if _writable(where) else f"{where} cannot be written")]
    return [*checks, _mirror()]


def _mirror() -> dict[str, Any]:
    from nmrgcl.data.locate import mirror
    from nmrgcl.errors import DataError

    try:
        place = mirror()
    except DataError as error:
        return _check("mirror", False, str(error), optional=True)
    if place is None:
        return _check("mirror", False, "NMRGCL_MIRROR is not set; datasets are downloaded", optional=True)
    if isinstance(place, str):
        return _check("mirror", True, f"{place}; not asked", optional=True)
    archives = len(list(place.glob("tu/*.*"))) if place.is_dir() else 0
    found = f"{place}: {archives} archives" if archives else f"{place} holds no tu/NAME.zip"
    return _check("mirror", bool(archives), found, optional=True)


def _writable(folder: Path) -> bool:
    """Whether a file can be made in the folder, or in the nearest one above it that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
