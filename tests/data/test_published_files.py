"""Published files are distinguished from others with the same counts."""

import hashlib
import random
import shutil
from pathlib import Path

import pytest

from nmrgcl.data.catalog import CATALOG, CatalogEntry
from nmrgcl.data.loading import load, load_entry
from nmrgcl.data.locate import INCLUDED, locate
from nmrgcl.data.published_files import differing_files, published_files
from nmrgcl.errors import DataError

LABELS = "MUTAG_graph_labels.txt"
ENTRY = CATALOG[0]
ARCHIVE = INCLUDED / "tu" / "MUTAG.zip"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no mirror."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    return tmp_path / "home"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files of MUTAG, to be changed."""
    shutil.unpack_archive(ARCHIVE, tmp_path)
    return tmp_path / "MUTAG"


def place(files: Path, home: Path) -> None:
    (home / "tu").mkdir(parents=True, exist_ok=True)
    shutil.make_archive(str(home / "tu" / "MUTAG"), "zip", files)


def shuffle(file: Path) -> None:
    lines = file.read_text().splitlines()
    random.Random(0).shuffle(lines)
    file.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("entry", [e for e in CATALOG if published_files(e.name)], ids=lambda entry: entry.name)
def test_the_mirror_has_the_published_files(mirror: Path, monkeypatch: pytest.MonkeyPatch, entry: CatalogEntry) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", str(mirror))
    source = locate(entry)
    assert source is not None
    assert differing_files(entry.name, source) == []


def test_the_archive_in_the_package_is_the_pinned_one() -> None:
    assert hashlib.sha256(ARCHIVE.read_bytes()).hexdigest() == ENTRY.sha256["MUTAG.zip"]
    assert len(published_files("MUTAG")) == 5
    assert differing_files("MUTAG", ARCHIVE) == []


def test_shuffled_labels_are_refused_by_name_and_read_by_path(files: Path, home: Path) -> None:
    shuffle(files / LABELS)
    place(files, home)
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            load("MUTAG")
        assert str(caught.value) == (
            f"{home}/tu/MUTAG.zip: differs from the published MUTAG: {LABELS} is missing or changed; "
            "replace the file, or pass its path to use it as it is"
        )
    assert load(f"{home}/tu/MUTAG.zip").statistics.graphs == 188


def test_measuring_shuffled_labels_leaves_nothing_in_the_cache_that_a_load_would_open(files: Path, home: Path) -> None:
    shuffle(files / LABELS)
    place(files, home)
    assert load_entry(ENTRY, home / "tu" / "MUTAG.zip", check=False).statistics.graphs == 188
    with pytest.raises(DataError, match=LABELS):
        load("MUTAG")


def test_a_missing_file_is_named(files: Path) -> None:
    (files / "MUTAG_edge_labels.txt").unlink()
    assert differing_files("MUTAG", files) == ["MUTAG_edge_labels.txt"]


def test_line_endings_make_no_difference(files: Path, home: Path) -> None:
    for file in files.glob("MUTAG_*.txt"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    place(files, home)
    assert load("MUTAG").statistics.graphs == 188


def test_the_second_load_hashes_nothing(files: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(files, home)
    load("MUTAG")
    monkeypatch.setattr("nmrgcl.data.published_files.members", lambda *_: pytest.fail("the files were hashed again"))
    assert load("MUTAG").statistics.graphs == 188
