"""What ``nmrgcl doctor`` says about an installation: what is there, and how to add what is missing."""

import json
import shutil
import sys
import tomllib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import torch

from tests.test_cli import run

doctor = import_module("nmrgcl.cli.doctor")  # the command has taken the name in the package
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
DECLARED = ["torch>=2.6", "numpy>=1.26", "pyarrow>=15; extra == 'chem'", "rdkit>=2024.3; extra == 'chem'"]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Packages that the doctor finds, by name; to be changed."""
    found = {"torch": "2.13.0+cpu", "numpy": "2.4.6", "pyarrow": "26.0", "rdkit": "2026.9.1"}

    def version_of(name: str) -> str:
        if name not in found:
            raise PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(doctor, "requires", lambda name: DECLARED)
    monkeypatch.setattr(doctor, "version", version_of)
    return found


def lines(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, str]:
    out, _ = run(capsys, "doctor", code=code)
    return {line[9:].split()[0]: line for line in out.splitlines()}


def test_a_working_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NMRGCL_MIRROR", str(tmp_path / "none"))
    found = json.loads(run(capsys, "doctor", "--json")[0])
    assert found["ok"]
    shown = {check["name"]: check["found"] for check in found["checks"]}
    assert shown["torch"] == version("torch")
    assert {"device", "cache", "mirror", "nmrgcl[pyg]"} <= set(shown)
    assert not (tmp_path / "home").exists()
    monkeypatch.setenv("NMRGCL_HOME", "/proc/nowhere")
    assert "cannot be written" in run(capsys, "doctor", code=1)[0]


@pytest.mark.parametrize(
    ("mirror", "found"),
    [
        ("https://h/data", "https://h/data; not contacted"),
        ("ftp://h", "NMRGCL_MIRROR=ftp://h: must be a folder or an https address"),
    ],
)
def test_a_mirror_on_the_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mirror: str, found: str
) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", mirror)
    out, _ = run(capsys, "doctor", "--json")
    assert found in [check["found"] for check in json.loads(out)["checks"]]


def test_every_extra_of_the_package_is_explained() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(doctor.PURPOSES) == set(extras) - {"dev"}


def test_an_extra_that_is_missing_is_shown_with_its_purpose_and_command(
    capsys: pytest.CaptureFixture[str], installed: dict[str, str]
) -> None:
    assert (
        lines(capsys)["nmrgcl[chem]"] == "ok       nmrgcl[chem]     molecules as SMILES: pyarrow 26.0, rdkit 2026.9.1"
    )
    del installed["rdkit"]
    assert lines(capsys)["nmrgcl[chem]"] == (
        "–        nmrgcl[chem]     molecules as SMILES: rdkit is not installed; pip install 'nmrgcl[chem]'"
    )


def test_what_is_needed_and_missing_or_too_old_ends_with_1(
    capsys: pytest.CaptureFixture[str], installed: dict[str, str]
) -> None:
    installed["numpy"] = "1.25.0"
    assert lines(capsys, code=1)["numpy"] == (
        "MISSING  numpy            numpy 1.25.0 is not >=1.26; pip install 'numpy>=1.26'"
    )
    del installed["torch"]
    assert lines(capsys, code=1)["torch"] == (
        "MISSING  torch            torch is not installed; pip install uv && uv pip install --torch-backend=auto torch"
    )


def test_a_source_folder_that_is_not_installed_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", missing)
    assert lines(capsys)["nmrgcl"].endswith(f"not installed; pip install -e {PROJECT.parent}")


def test_the_command_is_found_or_told_how_to_find(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, other = tmp_path / "env" / "bin", tmp_path / "other"
    for folder in (ours, other):
        folder.mkdir(parents=True)
        (folder / "nmrgcl").write_text("")
        (folder / "nmrgcl").chmod(0o755)
    (ours / "activate").write_text("")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(ours))
    monkeypatch.setenv("PATH", f"{ours}:{other}")
    assert lines(capsys)["command"] == f"ok       command          {ours}/nmrgcl"
    monkeypatch.setenv("PATH", str(other))
    assert lines(capsys)["command"].endswith(f"PATH has {other}/nmrgcl; run . {ours}/activate to activate this one")
    (ours / "activate").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lines(capsys)["command"].endswith(f"nmrgcl is not on PATH; run {ours}/nmrgcl")
    shutil.rmtree(ours)
    assert lines(capsys)["command"].endswith(f"run {sys.executable} -m nmrgcl")


def test_the_place_of_compiled_kernels_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert lines(capsys)["kernels"] == f"–        kernels          {tmp_path}: 0 compiled for a GPU"
    (tmp_path / "ABC").mkdir()
    (tmp_path / "ABC" / "sum_rows.cubin").write_bytes(b"")
    assert lines(capsys)["kernels"] == f"ok       kernels          {tmp_path}: 1 compiled for a GPU"


def test_warming_trains_a_method_on_synthetic_graphs() -> None:
    from nmrgcl.run.warm import warm

    assert list(warm(torch.device("cpu"), ["graphcl"])) == ["graphcl"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_kernels_cannot_be_compiled_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no CUDA device is available" in run(capsys, "doctor", "--warm", code=2)[1]
