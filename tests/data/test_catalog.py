import shutil
from pathlib import Path

import pytest

from nmrgcl.data import locate
from nmrgcl.data.catalog import CATALOG, CatalogEntry, find, find_tu, known_names
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from tests.data.formats.tu_text import write_tu
from tests.local_server import serving_folder

LARGE = ("COLLAB", "ZINC250k", "MOSES")
"""Datasets that take minutes to read."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no mirror, and an address that answers nothing."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    monkeypatch.setattr(locate, "ADDRESSES", dict.fromkeys(locate.ADDRESSES, "http://127.0.0.1:9"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("mutag", "MUTAG"),
        ("PTC-MR", "PTC_MR"),
        ("ptc_mr", "PTC_MR"),
        ("D&D", "DD"),
        ("dd", "DD"),
        ("IMDB-B", "IMDB-BINARY"),
        ("imdb_multi", "IMDB-MULTI"),
        ("IMDB-M", "IMDB-MULTI"),
        ("RDT-B", "REDDIT-BINARY"),
        ("RDT-M5K", "REDDIT-MULTI-5K"),
        ("rdt-m-5k", "REDDIT-MULTI-5K"),
        ("Reddit-Multi5K", "REDDIT-MULTI-5K"),
        ("multi-5k", "REDDIT-MULTI-5K"),
        ("pubmed", "PubMed"),
        ("citeseer", "CiteSeer"),
        ("coauthor_cs", "Coauthor-CS"),
        ("Photo", "Amazon-Photo"),
        ("amazon-computer", "Amazon-Computers"),
    ],
)
def test_aliases_mean_the_canonical_name(alias: str, name: str) -> None:
    entry = find(alias)
    assert entry is not None
    assert entry.name == name


def test_other_names_of_the_collection_are_known_as_it_spells_them() -> None:
    assert find_tu("enzymes") == "ENZYMES"
    assert find_tu("nci-109") == "NCI109"
    assert find_tu("tu:Something_new") == "Something_new"
    assert find_tu("nothing") is None
    names = known_names()
    assert len(names) == len({name.lower() for name in names})


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_every_row_is_complete(entry: CatalogEntry) -> None:
    assert entry.licence
    assert entry.citation
    assert entry.classes > 1 or entry.tasks != 1
    assert (entry.tasks is not None) == (entry.format in ("moleculenet", "zinc"))
    assert all(len(digest) == 64 for digest in entry.sha256.values())
    assert (entry.level == "node") == (entry.graphs == 1) == (entry.features is not None)


def test_mutag_comes_with_the_package() -> None:
    data = load("Mutag")
    assert (data.name, data.classes) == ("MUTAG", (-1, 1))
    assert data.source == str(locate.INCLUDED / "tu" / "MUTAG.zip")


@pytest.mark.parametrize("name", [e.name for e in CATALOG if e.sha256 and e.name not in LARGE])
def test_sets_of_the_mirror_show_the_published_numbers(
    mirror: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", str(mirror))
    assert load(name).source.startswith(str(mirror))


def test_the_cache_comes_before_the_mirror_and_the_mirror_before_the_package(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (tmp_path / "mirror", home):
        shutil.copytree(locate.INCLUDED, place, dirs_exist_ok=True)
        monkeypatch.setenv("NMRGCL_MIRROR", str(tmp_path / "mirror"))
        assert load("MUTAG").source == str(place / "tu" / "MUTAG.zip")


def test_a_set_with_other_numbers_is_refused_by_name_but_read_by_path(home: Path) -> None:
    (home / "tu").mkdir(parents=True)
    write_tu(home / "tu" / "COLLAB", "COLLAB")
    shutil.make_archive(str(home / "tu" / "COLLAB"), "zip", home / "tu" / "COLLAB")
    with pytest.raises(DataError) as caught:
        load("COLLAB")
    assert "differs from the published COLLAB: 2 graphs instead of 5000, 2.50 nodes per graph instead of 74.49" in str(
        caught.value
    )
    assert load(str(home / "tu" / "COLLAB.zip")).statistics.graphs == 2


@pytest.fixture
def mutag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``tu/MUTAG.zip``, the only copy on this machine."""
    served = shutil.copytree(locate.INCLUDED, tmp_path / "served")
    monkeypatch.setattr(locate, "INCLUDED", tmp_path / "nothing")
    return served


def test_a_missing_set_is_downloaded_once_into_the_cache(
    home: Path, mutag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_folder(mutag / "tu") as address:
        monkeypatch.setitem(locate.ADDRESSES, "tu", address)
        assert load("mutag").source == str(home / "tu" / "MUTAG.zip")
    assert load("mutag").graphs.num_graphs == 188
    assert [p.name for p in (home / "tu").iterdir()] == ["MUTAG.zip"]


def test_a_mirror_on_the_network_has_the_layout_of_one_in_a_folder(
    home: Path, mutag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with serving_folder(mutag, asked) as address:
        monkeypatch.setenv("NMRGCL_MIRROR", f"{address}/")
        for _ in range(2):
            assert load("MUTAG").source == str(home / "tu" / "MUTAG.zip")
        assert asked == ["/tu/MUTAG.zip"]
        with pytest.raises(DataError, match="download http://127.0.0.1:9/ENZYMES.zip elsewhere"):
            load("ENZYMES")
        assert asked[1:] == ["/tu/ENZYMES.zip", "/tu/ENZYMES.tar.xz", "/tu/ENZYMES.tar.gz"]


def test_a_packing_that_the_catalog_knows_is_asked_for_first(mutag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with serving_folder(mutag, asked) as address:
        monkeypatch.setenv("NMRGCL_MIRROR", address)
        for name in ("DD", "Cora", "ZINC250k"):
            with pytest.raises(DataError, match="save it as|place one"):
                load(name)
    assert asked[0] == "/tu/DD.tar.xz"
    assert "/planetoid/Cora/raw/ind.cora.x" in asked
    assert "/zinc/zinc250k.smi.xz" in asked


@pytest.mark.parametrize("mirror", ["ftp://h/data", "http://h/data", "file:///data", "https://"])
def test_other_addresses_of_a_mirror_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, mirror: str) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", mirror)
    with pytest.raises(DataError) as caught:
        load("MUTAG")
    assert str(caught.value) == f"NMRGCL_MIRROR={mirror}: must be a folder or an https address"


def test_a_failed_download_says_what_to_place_where(home: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("RDT-M5K")
    told = str(caught.value)
    assert "\n" not in told
    assert f"{locate.ADDRESSES['tu']}/REDDIT-MULTI-5K.zip" in told
    assert f"save it as {home}/tu/REDDIT-MULTI-5K.zip" in told
    assert not (home / "tu" / "REDDIT-MULTI-5K.zip").exists()


def test_a_list_of_molecules_that_is_nowhere_published_says_what_to_place_where(home: Path) -> None:
    with pytest.raises(DataError, match=f"place one, with one SMILES per line, at {home}/zinc/zinc250k.smi"):
        load("ZINC250k")


def test_a_list_of_molecules_must_be_the_published_one(home: Path) -> None:
    (home / "zinc").mkdir(parents=True)
    (home / "zinc" / "zinc250k.smi").write_text("CCO\nCCC\n")
    with pytest.raises(DataError, match="differs from the published ZINC250k: 2 graphs instead of 249455"):
        load("zinc-250k")


def test_a_cache_that_cannot_be_written_is_one_line(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"NCI1: the download failed \(.*\); download .* and save it as"):
        load("NCI1")


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_a_folder_that_is_merely_called_like_a_dataset_does_not_hide_it(tmp_path: Path, entry: CatalogEntry) -> None:
    (tmp_path / entry.name).mkdir()
    with pytest.raises(DataError, match="contains no graphs in a known format"):
        load(f"./{entry.name}")
    write_tu(tmp_path / entry.name)
    assert load(entry.name).name == "T"


def test_unknown_names_and_paths_are_told_apart(tmp_path: Path) -> None:
    for name, told in [
        ("PROTIENS", "unknown dataset 'PROTIENS'; did you mean PROTEINS"),
        ("zzz", "unknown dataset 'zzz'; known: AIDS, Amazon-Computers,"),
        ("", "unknown dataset ''; known: "),
        ("gone/MUTAG", "gone/MUTAG: no such file or folder"),
        ("gone.zip", "gone.zip: no such file or folder"),
        ("gone.jsonl", "gone.jsonl: no such file or folder"),
        ("x" * 5000, "unknown dataset"),
        ("a\0b", "unknown dataset"),
    ]:
        with pytest.raises(DataError) as caught:
            load(name)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


def test_motifs_need_no_file() -> None:
    assert load("Motifs").statistics.graphs == 300
