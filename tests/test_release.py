"""What a release promises: the public names change on purpose, and the version is the same everywhere."""

import json
import re
import tomllib
from pathlib import Path

import nmrgcl
from tests.api import FILE, api

ROOT = Path(__file__).parents[1]


def test_public_names_and_signatures_change_only_on_purpose() -> None:
    assert api() == json.loads(FILE.read_text(encoding="utf-8")), "if this is meant: python -m tests.api"


def test_the_version_is_that_of_the_citation_and_of_the_latest_release_in_the_changelog() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [nmrgcl.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, latest, *_ = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    released = re.search(r"^date-released: \"(.*)\"$", citation, re.MULTILINE)
    assert released is not None
    assert (unreleased, latest) == ("[Unreleased]", f"[{nmrgcl.__version__}] - {released[1]}")


def test_the_page_about_installing_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").partition("## Extras")[2].partition("\n## ")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == {*extras} - {"dev"}
