import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nmrgcl.data import catalog
from nmrgcl.data.catalog import CATALOG, find, load, verify
from nmrgcl.errors import DataError
from tests.data.tu_text import write_tu


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no mirror, and an address that answers nothing."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NMRGCL_MIRROR", raising=False)
    monkeypatch.setattr(catalog, "TU_ADDRESS", (tmp_path / "nowhere").as_uri())
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
    ],
)
def test_aliases_mean_the_canonical_name(alias: str, name: str) -> None:
    entry = find(alias)
    assert entry is not None
    assert entry.name == name


def test_mutag_comes_with_an_installed_package() -> None:
    pytest.importorskip("grakel")
    data = load("Mutag")
    assert (data.name, data.classes) == ("MUTAG", (-1, 1))
    assert "grakel" in data.source


@pytest.mark.parametrize(
    "name", ["MUTAG", "PTC_MR", "PROTEINS", "NCI1", "DD", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY"]
)
def test_sets_of_the_mirror_show_the_published_numbers(
    mirror: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", str(mirror))
    assert load(name).source.startswith(str(mirror))


def test_collab_is_published_with_its_self_loops_counted_once(home: Path) -> None:
    # As measured on the whole set, which takes too long to read here.
    entry = find("COLLAB")
    assert entry is not None
    write_tu(home)
    data = replace(load(str(home)), self_loops=2837)
    undirected_edges = 12_286_079
    measured = undirected_edges / 5000, (undirected_edges + 2837) / 5000
    assert [round(m, 2) for m in measured] == [2457.22, entry.avg_edges]
    assert entry.loops_counted
    with pytest.raises(DataError, match=r"1420\.00 edges a graph instead of 2457\.78"):
        verify(data, entry)


def test_the_cache_comes_before_the_mirror_and_the_mirror_before_packages(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("grakel")
    bundled = Path(load("MUTAG").source)
    for place in (tmp_path / "mirror", home):
        (place / "tu").mkdir(parents=True)
        shutil.make_archive(str(place / "tu" / "MUTAG"), "zip", bundled)
        monkeypatch.setenv("NMRGCL_MIRROR", str(tmp_path / "mirror"))
        assert load("MUTAG").source == str(place / "tu" / "MUTAG.zip")


def test_a_set_with_other_numbers_is_refused_by_name_but_read_by_path(home: Path) -> None:
    (home / "tu").mkdir(parents=True)
    write_tu(home / "tu" / "DD", "DD")
    shutil.make_archive(str(home / "tu" / "DD"), "zip", home / "tu" / "DD")
    with pytest.raises(DataError) as caught:
        load("DD")
    assert "not DD as published: 2 graphs instead of 1178, 2.50 nodes a graph instead of 284.32" in str(caught.value)
    assert load(str(home / "tu" / "DD.zip")).statistics.graphs == 2


def test_a_missing_set_is_downloaded_once_into_the_cache(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("grakel")
    monkeypatch.setattr(catalog, "TU_ADDRESS", tmp_path.as_uri())
    shutil.make_archive(str(tmp_path / "MUTAG"), "zip", load("MUTAG").source)
    monkeypatch.setattr(catalog, "_bundled_mutag", lambda: None)
    assert load("mutag").source == str(home / "tu" / "MUTAG.zip")
    (tmp_path / "MUTAG.zip").unlink()
    assert load("mutag").graphs.num_graphs == 188
    assert [p.name for p in (home / "tu").iterdir()] == ["MUTAG.zip"]


def test_a_failed_download_says_what_to_place_where(home: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("RDT-M5K")
    told = str(caught.value)
    assert "\n" not in told
    assert f"{catalog.TU_ADDRESS}/REDDIT-MULTI-5K.zip" in told
    assert f"place it as {home}/tu/REDDIT-MULTI-5K.zip" in told
    assert list((home / "tu").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_one_line(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"NCI1: the download failed \(.*\); get .* and place it as"):
        load("NCI1")


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_a_folder_that_is_merely_called_like_a_dataset_does_not_hide_it(tmp_path: Path, entry: catalog.Entry) -> None:
    (tmp_path / entry.name).mkdir()
    with pytest.raises(DataError, match="not a TU dataset"):
        load(f"./{entry.name}")
    write_tu(tmp_path / entry.name)
    assert load(entry.name).name == "T"


def test_unknown_names_and_paths_are_told_apart(tmp_path: Path) -> None:
    for name, told in [
        ("PROTIENS", "unknown dataset 'PROTIENS'; did you mean PROTEINS"),
        ("zzz", "unknown dataset 'zzz'; known: COLLAB, DD,"),
        ("", "unknown dataset ''; known: "),
        ("gone/MUTAG", "gone/MUTAG: no such folder or archive"),
        ("gone.zip", "gone.zip: no such folder or archive"),
        ("gone.tar.xz", "gone.tar.xz: no such folder or archive"),
        ("x" * 5000, "unknown dataset"),
        ("a\0b", "unknown dataset"),
    ]:
        with pytest.raises(DataError) as caught:
            load(name)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


def test_motifs_need_no_file() -> None:
    assert load("Motifs").statistics.graphs == 300
