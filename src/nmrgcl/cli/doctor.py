"""``nmrgcl doctor``."""

import json
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl import __version__
from nmrgcl.cli.options import AsJson
from nmrgcl.cli.terminal import tell
from nmrgcl.home import home

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PURPOSES = {
    "chem": "molecules as SMILES",
    "csv": "edge lists and tables as CSV",
    "fast": "a faster SVM for 1,000 graphs and more",
    "hub": "models to and from the Hugging Face Hub",
    "mlflow": "trainings told to MLflow",
    "networkx": "NetworkX graphs, GraphML and GML",
    "onnx": "models as .onnx",
    "parquet": "embeddings as .parquet",
    "pyg": "PyG data and encoders",
    "ray": "cells computed by Ray",
    "slurm": "cells computed by Slurm",
    "tensorboard": "trainings told to TensorBoard",
    "wandb": "trainings told to Weights & Biases",
}
"""What each extra of the package is for."""
# A plain "pip install torch" installs the CUDA build, several gigabytes, even without a GPU.
REMEDIES = {"torch": "pip install uv && uv pip install --torch-backend=auto torch"}


def doctor(
    ops: Annotated[bool, typer.Option("--ops", help="List the forms of each operation and when each runs.")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile the GPU kernels of every method, so that first runs are quick.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation, and say how to fix what is missing.

    Exits with 1 if something required is missing. Kernels are compiled once per machine and stay in Triton's cache,
    whose place is shown; TRITON_CACHE_DIR moves it.

    Examples:

      nmrgcl doctor

      nmrgcl doctor --ops

      nmrgcl doctor --warm
    """
    if ops:
        _show_forms(as_json)
        return
    if warm:
        _warm()
    checks = [*_packages(), *_device(), *_folders()]
    if as_json:
        print(json.dumps({"ok": all(c["ok"] or c["optional"] for c in checks), "checks": checks}))
    else:
        for check in checks:
            mark = "ok" if check["ok"] else "–" if check["optional"] else "MISSING"
            print(f"{mark:<8} {check['name']:<16} {check['found']}")
    if not all(check["ok"] or check["optional"] for check in checks):
        raise typer.Exit(1)


def _show_forms(as_json: bool) -> None:
    from nmrgcl.ops.forms import forms

    if as_json:
        print(json.dumps({"forms": [asdict(form) for form in forms()]}))
        return
    for form in forms():
        print(f"{form.operation:<16} {form.name:<24} {form.when}")


def _check(name: str, ok: bool, found: str, *, optional: bool = False) -> dict[str, Any]:
    return {"name": name, "ok": ok, "optional": optional, "found": found}


def _packages() -> list[dict[str, Any]]:
    """Check the interpreter, this package, and the requirements and extras in its metadata."""
    from packaging.requirements import Requirement

    python, folder = _check("python", True, platform.python_version()), Path(__file__).parents[1]
    try:
        declared = [Requirement(line) for line in requires("nmrgcl") or ()]
    except PackageNotFoundError:
        found = f"{__version__} in {folder}, not installed; pip install -e {folder.parents[1]}"
        return [python, _check("nmrgcl", False, found, optional=True)]
    needed = [_needed(requirement) for requirement in declared if requirement.marker is None]
    extras = {extra: [r for r in declared if r.marker and r.marker.evaluate({"extra": extra})] for extra in PURPOSES}
    optional = [_extra(extra, requirements) for extra, requirements in extras.items() if requirements]
    return [python, _check("nmrgcl", True, f"{__version__} in {folder}"), _command(), *needed, *optional]


def _needed(requirement: "Requirement") -> dict[str, Any]:
    found, problem = _installed(requirement)
    remedy = REMEDIES.get(requirement.name, f"pip install '{requirement}'")
    return _check(requirement.name, not problem, f"{problem}; {remedy}" if problem else found)


def _extra(extra: str, requirements: "list[Requirement]") -> dict[str, Any]:
    states = [_installed(requirement) for requirement in requirements]
    problems = [problem for _, problem in states if problem]
    there = [f"{r.name} {found}" for r, (found, _) in zip(requirements, states, strict=True)]
    state = f"{', '.join(problems)}; pip install 'nmrgcl[{extra}]'" if problems else ", ".join(there)
    return _check(f"nmrgcl[{extra}]", not problems, f"{PURPOSES[extra]}: {state}", optional=True)


def _installed(requirement: "Requirement") -> tuple[str, str]:
    """Return the installed version and the problem with it; either may be empty."""
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return "", f"{requirement.name} is not installed"
    fits = requirement.specifier.contains(found, prereleases=True)
    return found, "" if fits else f"{requirement.name} {found} is not {requirement.specifier}"


def _command() -> dict[str, Any]:
    """Check that the command ``nmrgcl`` runs this installation."""
    scripts = sysconfig.get_path("scripts")
    ours, found = shutil.which("nmrgcl", path=scripts), shutil.which("nmrgcl")
    if found and found == ours:
        return _check("command", True, found, optional=True)
    instead = f"PATH has {found}" if found else "nmrgcl is not on PATH"
    return _check("command", False, f"{instead}; {_activation(scripts, ours)}", optional=True)


def _activation(scripts: str, ours: str | None) -> str:
    if ours and (activate := Path(scripts) / "activate").is_file():
        return f"run . {activate} to activate this one"
    return f"run {ours or f'{sys.executable} -m nmrgcl'}"


def _device() -> list[dict[str, Any]]:
    try:
        import torch
    except (ImportError, OSError) as error:
        return [_check("device", False, f"torch does not load: {str(error).splitlines()[0]}")]
    if torch.cuda.is_available():
        return [_check("device", True, torch.cuda.get_device_name())]
    from nmrgcl.train.precision import cpu_multiplies_bfloat16

    fast = "; fast bfloat16: --set precision=bf16 for wide encoders" if cpu_multiplies_bfloat16() else ""
    found = f"CPU, {os.cpu_count()} cores; no CUDA device{fast}"
    return [_check("device", True, found)]


def _folders() -> list[dict[str, Any]]:
    where = home()
    checks = [_check("cache", _writable(where), f"{where}" if _writable(where) else f"{where} cannot be written")]
    return [*checks, _kernels(), _mirror()]


def _kernels() -> dict[str, Any]:
    """Count the compiled kernels in Triton's cache."""
    home = Path(os.environ.get("TRITON_HOME", "~")).expanduser()
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    count = len(list(folder.glob("*/*.cubin")))
    return _check("kernels", count > 0, f"{folder}: {count} compiled for a GPU", optional=True)


def _warm() -> None:
    """Compile the kernels of every method, with a line for each."""
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.warm import warm

    for name in warm(choose_device("cuda")):
        tell(f"nmrgcl: compiled the kernels of {name}")


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
        return _check("mirror", True, f"{place}; not contacted", optional=True)
    archives = len(list(place.glob("tu/*.*"))) if place.is_dir() else 0
    found = f"{place}: {archives} archives" if archives else f"{place} contains no tu/NAME.zip"
    return _check("mirror", bool(archives), found, optional=True)


def _writable(folder: Path) -> bool:
    """Return True if a file can be created in the folder, or in its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
