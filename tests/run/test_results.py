"""Result files: what is written is read back, and changed files are refused by name."""

import gzip
import hashlib
import json
import re
import shutil
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from nmrgcl.errors import DataError, SettingError
from nmrgcl.run.engine import run_cells
from nmrgcl.run.pack import merge, read_pack, write_pack
from nmrgcl.run.results import DamagedError, Result, Results, parse_result, token_of
from nmrgcl.train.checkpoint import Checkpoint, write_checkpoint
from tests.run.cells import quick, result_of

RUN = quick()
DONE = result_of(RUN, 50.0, 75.0)
FAILED = replace(DONE, status="failed", scores={}, error={"type": "DataError", "message": "no such folder"})


def signed(result: Result, **changed: object) -> str:
    """The file of a result with some values changed and a valid checksum."""
    values = result.to_dict() | changed
    del values["checksum"]
    checksum = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    return json.dumps(values | {"checksum": checksum})


def test_a_result_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    results = Results(tmp_path / "new")
    assert results.keys() == []
    assert results.get(RUN.key) is None
    results.put(DONE)
    assert results.get(RUN.key) == DONE
    assert results.all() == ([DONE], [])
    assert DONE.cell == RUN
    assert [p.name for p in (tmp_path / "new").iterdir()] == [f"{RUN.key}.json"]


def test_a_failed_cell_is_kept_until_it_is_finished(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.put(FAILED)
    assert results.failed() == [FAILED]
    assert results.get(RUN.key) is None
    assert results.find(RUN.key[:6]) == FAILED
    results.put(DONE)
    assert results.failed() == []
    assert results.find(RUN.key[:6]) == DONE
    with pytest.raises(SettingError, match="no key begins with this"):
        results.find("x")


def test_what_a_killed_process_left_goes_with_the_next_writing(tmp_path: Path) -> None:
    (tmp_path / f".{RUN.key}.json.{RUN.key[:16]}.01234567").write_text("{")
    (tmp_path / f".{RUN.key}.json.orig").write_text("mine")
    Results(tmp_path).put(DONE)
    assert {p.name for p in tmp_path.iterdir()} == {f"{RUN.key}.json", f".{RUN.key}.json.orig"}


def test_every_flipped_bit_and_every_cut_is_noticed(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.put(DONE)
    path = results.path(RUN.key)
    whole = path.read_bytes()
    for position in range(0, len(whole) - 1, 7):  # The last byte ends the line.
        for damaged in (whole[:position], whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :]):
            path.write_bytes(damaged)
            with pytest.raises(DataError) as caught:
                results.get(RUN.key)
            assert str(path) in str(caught.value)
            assert str(caught.value).isprintable()
    assert results.all()[0] == []
    assert len(results.all()[1]) == 1


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"key": "0" * 32}, "key"),
        ({"named": quick(seed=1).named()}, "key"),
        ({"settings": {"method": "nmrgl"}}, "unknown method"),
        ({"settings": {"train.epoch": 1}}, "unknown setting"),
        ({"scores": {"folds": [], "mean": 0.0}}, "percentages"),
        ({"scores": {"folds": [101.0], "mean": 101.0}}, "percentages"),
        ({"scores": {"folds": [50.0], "mean": 51.0}}, "mean"),
        ({"scores": {"folds": ["50"], "mean": 50.0}}, "percentages"),
        ({"scores": {"folds": [-1.0], "mean": -1.0, "mae": [1.0]}}, "errors"),
        ({"scores": {"folds": [float("inf")], "mean": float("inf"), "mae": [1.0]}}, "damaged"),
        ({"scores": {"folds": [50.0], "mean": 50.0, "inner": [50.0, 50.0]}}, "percentages"),
        ({"scores": {"folds": [50.0], "mean": 50.0, "inner": 50.0}}, "damaged"),
        ({"scores": None}, "scores"),
        ({"chosen": []}, "chosen"),
        ({"status": "failed"}, "status"),
        ({"format": "other"}, "not a result"),
        ({"version": "1"}, "not a result"),
        ({"more": 1}, "damaged"),
    ],
)
def test_a_checksum_alone_is_not_believed(changed: dict[str, object], word: str) -> None:
    with pytest.raises(DamagedError, match=word) as caught:
        parse_result(signed(DONE, **changed), "file")
    assert str(caught.value).startswith("file: damaged")


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", "[" * 100_000, '{"format": NaN}', "\udcff", '{"version": 1e999}']
)
def test_no_text_at_all_does_more_than_being_refused(text: str) -> None:
    with pytest.raises(DamagedError):
        parse_result(text.encode("utf-8", "surrogateescape"), "file")


def test_a_newer_version_is_no_damage(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.path(RUN.key).write_text(signed(DONE, version=3))
    for read in (results.get, results.finished):
        with pytest.raises(DataError, match="newer version.*upgrade") as caught:
            read(RUN.key)
        assert not isinstance(caught.value, DamagedError)


def test_a_result_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.path(quick(seed=1).key).write_text(DONE.to_json())
    with pytest.raises(DamagedError, match="another cell"):
        results.get(quick(seed=1).key)
    with pytest.raises(SettingError, match="not the key"):
        results.get("../secrets")


def test_settings_that_a_later_version_added_do_not_disown_a_result() -> None:
    settings = RUN.settings.to_dict()
    del settings["train"]["deterministic"]
    older = replace(DONE, settings=settings)
    read = parse_result(older.to_json(), "file")
    assert read == older
    assert read.cell == RUN


def test_a_pack_brings_all_results_home(tmp_path: Path) -> None:
    there = Results(tmp_path / "there")
    for seed in range(5):
        there.put(result_of(quick(seed=seed), 50.0, 60.0 + seed))
    pack = tmp_path / "all.nmrgcl-results"
    assert write_pack(pack, there.all()[0]) == 5
    before = pack.read_bytes()
    write_pack(pack, reversed(there.all()[0]))
    assert pack.read_bytes() == before
    here = Results(tmp_path / "here")
    here.put(result_of(quick(seed=0), 50.0, 60.0))
    merged = merge(here, [pack, tmp_path / "there"])
    assert (len(merged.added), len(merged.same), merged.conflicts, merged.problems) == (4, 6, [], [])
    assert here.all() == there.all()


def test_a_conflict_keeps_what_is_there(tmp_path: Path) -> None:
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    here.put(DONE)
    there.put(result_of(RUN, 50.0, 76.0))
    there.put(result_of(quick(seed=1), 1.0))
    (tmp_path / "there" / f"{quick(seed=2).key}.json").write_text("{}")
    merged = merge(here, [tmp_path / "there"])
    assert (merged.added, merged.conflicts) == ([quick(seed=1).key], [RUN.key])
    assert len(merged.problems) == 1
    assert here.get(RUN.key) == DONE


def test_inner_scores_that_an_earlier_version_did_not_record_are_added(tmp_path: Path) -> None:
    from dataclasses import replace

    old, new = Results(tmp_path / "old"), Results(tmp_path / "new")
    old.put(DONE)
    new.put(replace(DONE, scores={**DONE.scores, "inner": list(DONE.scores["folds"])}))
    for into, source in ((old, new), (new, old), (old, new)):
        merged = merge(into, [source.folder])
        assert (merged.added, merged.same, merged.conflicts) == ([], [RUN.key], [])
        kept = into.get(RUN.key)
        assert kept is not None
        assert kept.scores["inner"] == DONE.scores["folds"]


def test_a_damaged_pack_adds_nothing(tmp_path: Path) -> None:
    pack, here = tmp_path / "all.nmrgcl-results", Results(tmp_path / "here")
    write_pack(pack, [result_of(quick(seed=seed), 50.0) for seed in range(3)])
    whole = pack.read_bytes()
    for position in range(0, len(whole), 41):
        flipped = bytearray(whole)
        flipped[position] ^= 16
        for damaged in (whole[:position], bytes(flipped)):
            if 4 <= position < 10 and damaged == flipped:
                continue  # The date and system in the gzip header are irrelevant.
            with suppress(OSError, EOFError, zlib.error):
                if gzip.decompress(damaged) == gzip.decompress(whole):
                    continue  # A back-reference to another place with the same content.
            pack.write_bytes(damaged)
            with pytest.raises(DataError, match=re.escape(str(pack))) as caught:
                merge(here, [pack])
            assert str(caught.value).isprintable()
    assert here.keys() == []


def lines_of(*results: Result, count: int | None = None, **head: object) -> bytes:
    first = {"format": "nmrgcl-results", "version": 1, "results": len(results) if count is None else count} | head
    return gzip.compress("".join(f"{line}\n" for line in [json.dumps(first), *(r.to_json() for r in results)]).encode())


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (lines_of(DONE, count=2), "line 3: cut short"),
        (lines_of(DONE, count=0), "line 2: more than"),
        (lines_of(DONE, DONE), "line 3"),
        (lines_of(FAILED), "line 2: not a finished"),
        (lines_of(DONE, version=2), "newer version"),
        (lines_of(DONE, format="other"), "line 1"),
        (lines_of(DONE, results="1"), "line 1"),
        (gzip.compress(b"0" * 2**26), "line 1"),
        (gzip.compress(lines_of(DONE)), "line 1"),
        (b"PK", "not a pack"),
        (b"", "line 1"),
    ],
)
def test_what_is_no_pack_is_refused_with_its_line(content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "pack").write_bytes(content)
    with pytest.raises(DataError, match=word) as caught:
        read_pack(tmp_path / "pack")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", [".work", ".locks", ".trained"])
def test_cells_are_not_computed_through_links(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingError, match=rf"{name}: is a link, and links are not written to"):
        run_cells([RUN], tmp_path / "results", jobs=1, device="cpu")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_cells_whose_folder_goes_do_not_end_well(tmp_path: Path) -> None:
    folder = tmp_path / "results"

    def remove(cell: object, outcome: object) -> None:
        shutil.rmtree(folder)

    with pytest.raises(SettingError, match=r"results: was deleted during the run, together with results"):
        run_cells([RUN, quick(seed=1)], folder, jobs=1, device="cpu", on_done=remove)


def test_foreign_files_among_work_in_progress_stay(tmp_path: Path) -> None:
    results = Results(tmp_path)
    work = results.work(RUN.key) / "0123456789abcdef"
    write_checkpoint(work, 1, Checkpoint({}, {}), token_of(RUN.key))
    (work / f".step-0000000002.ckpt.{token_of(RUN.key)}.01234567").write_text("half")
    (work / "notes.txt").write_text("mine")
    results.remove_work(RUN.key)
    assert [p.name for p in work.iterdir()] == ["notes.txt"]
    (work / "notes.txt").unlink()
    results.remove_work(RUN.key)
    assert not results.work(RUN.key).exists()
