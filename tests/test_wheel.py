"""The wheel that is built here: what it holds, and that it runs where only its dependencies are."""

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.quick_start import quick_start

ROOT = Path(__file__).parents[1]


def build(source: Path, target: Path, *arguments: str) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *arguments]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def content(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, without those that describe it."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (file,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(file))


def test_the_wheel_holds_the_files_of_the_package_and_nothing_else(wheel: Path) -> None:
    package = ROOT / "src" / "nmrgcl"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert content(wheel) == {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in files}
    for needed in ("data/included/tu/MUTAG.zip", "data/SHA256SUMS", "presets/strong.toml", "report/style.css"):
        assert f"nmrgcl/{needed}" in content(wheel)


def test_the_source_distribution_makes_the_same_wheel_and_has_what_the_readme_links_to(
    built: Path, wheel: Path, tmp_path: Path
) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as unpacked:
        unpacked.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    build(source, tmp_path / "again", "-t", "wheel")
    assert content(tmp_path / "again" / wheel.name) == content(wheel)
    linked = re.findall(r"\]\((?!https?:|#)([^)#]*)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert linked
    assert [file for file in linked if not (source / file).exists()] == []


def test_the_description_for_a_package_index_has_no_link_or_picture_that_leads_nowhere_there(wheel: Path) -> None:
    description = str(metadata(wheel).get_payload())
    assert "how it works: `docs/how-it-works.md`" in description
    targets = re.findall(r"\]\(([^)]*)\)", description)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert "![" not in description


def required(requirements: list[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Add to ``found`` what is installed here of the requirements and of theirs, without extras."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name.lower() not in found:
            found[requirement.name.lower()] = here = distribution(requirement.name)
            required(here.requires or [], found)
    return found


def test_the_quick_start_runs_where_only_the_dependencies_are_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    for needed in required(metadata(wheel).get_all("Requires-Dist", []), {}).values():
        for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            (packages / name).symlink_to(str(needed.locate_file(name)))
    assert {"torch", "numpy"} <= {path.name for path in packages.iterdir()}
    assert not {"torch_geometric", "rdkit", "grakel", "pyarrow"} & {path.name for path in packages.iterdir()}
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (tmp_path / "work").mkdir()
    quick_start(tmp_path / "env" / "bin" / "python", tmp_path / "work")
