"""A file of SMILES imported in shards: merged, they are the store of the whole file, byte for byte."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from nmrgcl.data.library import stores_of
from nmrgcl.data.molecules import lines
from nmrgcl.data.molecules.lines import cut_lines
from nmrgcl.data.read import import_path
from nmrgcl.data.shards import merge_stores, verify_store
from nmrgcl.data.stored import open_dataset
from nmrgcl.errors import DataError
from nmrgcl.run.import_library import ImportTask, import_library, import_shard, missing_shards, plan_import
from tests.test_cli import run

MANY = ["CCO", "c1ccccc1", "C1CC", "", "C[C@H](N)C(=O)O", "  CN  ", "F/C=C/F", "xyz", "CC(=O)O", "CCC\t", "é", "CC"]
NAMED = [f"{text} name {n}" if text and n % 2 else text for n, text in enumerate(MANY)]
FILES = {
    "names": "SMILES name\n" + "\n".join(NAMED),
    "no names": "\n".join(MANY) + "\n\n",
    "only the header has a name": "smiles name\n" + "\n".join(MANY),
    "a name on the last line": "\n".join(MANY) + "\nCO methanol\n",
    "windows": "\ufeffsmiles\r\n" + "\r\n".join(NAMED) + "\r\n",
    "old mac": "\r".join(MANY) + "\r",
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 16)


def file_of(folder: Path, text: str) -> Path:
    (folder / "m.smi").write_bytes(text.encode())
    return folder / "m.smi"


def plan(source: Path, out: Path, shards: int, strict: bool = False) -> list[ImportTask]:
    return plan_import(source, out, shards, name=None, strict=strict)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_merged_shards_are_the_store_of_the_whole_file(tmp_path: Path, text: str) -> None:
    source = file_of(tmp_path, text)
    import_path(source, tmp_path / "whole")
    for shards in (1, 2, 3):
        out = tmp_path / str(shards)
        tasks = plan(source, out, shards)
        outcomes = list(import_library(tasks[::-1], out, backend="inline"))
        assert sorted(outcomes) == [(task.out, "") for task in tasks]
        merge_stores(stores_of(out), tmp_path / f"merged-{shards}")
        assert contents(tmp_path / f"merged-{shards}") == contents(tmp_path / "whole")
        assert (
            sum(verify_store(folder).graphs for folder in stores_of(out)) == open_dataset(tmp_path / "whole").counts[0]
        )


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_ranges_are_consecutive_and_have_as_many_lines_as_they_say(tmp_path: Path, text: str) -> None:
    source = file_of(tmp_path, text)
    content = source.read_bytes()
    every = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", content)
    assert b"".join(every) == content
    for count in range(1, len(every) + 1):
        found, done = cut_lines(source, count).ranges, 0
        for start, end, before, number in found:
            assert before == done
            assert content[start:end] == b"".join(every[done : done + number])
            done += number
        sizes = {number for _, _, _, number in found}
        assert (len(found), done) == (count, len(every))
        assert max(sizes) - min(sizes) <= 1


def test_finished_shards_are_kept(tmp_path: Path) -> None:
    source, out = file_of(tmp_path, FILES["names"]), tmp_path / "library"
    tasks = plan(source, out, 3)
    list(import_library(tasks[:2], out, backend="inline"))
    stray = out / f".shard-00002.{tasks[2].token}.0123abcd"  # of a worker that was killed
    stray.mkdir()
    before = (out / "shard-00001").stat().st_ino
    left = missing_shards(plan(source, out, 3))
    assert left == tasks[2:]
    list(import_library(left, out, backend="inline"))
    assert not stray.exists()
    assert (out / "shard-00001").stat().st_ino == before
    assert missing_shards(tasks) == []
    source.write_bytes(source.read_bytes() + b"\nCCCC")
    with pytest.raises(DataError, match="shard-00000: is not this part of m.smi with these options"):
        missing_shards(plan(source, out, 3))
    with pytest.raises(DataError, match="contains another store, shard-00002"):
        plan(source, out, 2)


def test_shards_in_worker_processes_are_the_same(tmp_path: Path) -> None:
    source = file_of(tmp_path, FILES["names"])
    for backend in ("inline", "processes"):
        out = tmp_path / backend
        assert not [
            one.error for one in import_library(plan(source, out, 3), out, backend=backend, jobs=2) if one.error
        ]
    for number in range(3):
        one, other = (contents(tmp_path / backend / f"shard-0000{number}") for backend in ("inline", "processes"))
        assert one == other


def test_a_shard_without_molecules_fails_and_leaves_the_others(tmp_path: Path) -> None:
    tasks = plan(file_of(tmp_path, "CCO\n\nxyz\nCC"), tmp_path / "library", 4)
    found = [import_shard(task).error for task in tasks]
    assert found[0] == found[3] == ""
    assert "lines 2 to 2 contain no molecule; use fewer shards" in found[1]
    assert "line 3, 'xyz': it is not a SMILES" in found[2]
    gone = replace(tasks[0], source=tmp_path / "gone.smi")
    assert "gone.smi: cannot be read (No such file" in import_shard(gone).error


def test_the_command_counts_lists_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = file_of(tmp_path, FILES["names"]), tmp_path / "library"
    given = ["datasets", "import", str(source), "--out", str(out), "--shards", "3", "--backend", "inline"]
    text, _ = run(capsys, *given)
    assert text.splitlines() == [
        f"{out}: 3 of 3 shards written; 8 graphs, 30 nodes, 46 directed edges",
        "  rows that are not molecules: 3 of 11",
        "    line 4, 'C1CC': it is not a SMILES",
        "    line 9, 'xyz': it is not a SMILES",
        "    line 12, 'é': it is not plain ASCII",
    ]
    (out / "shard-00001" / "manifest.json").unlink()
    assert "shard-00001/manifest.json: is missing" in run(capsys, *given, code=2)[1]
    for file in (out / "shard-00001").iterdir():
        file.unlink()
    (out / "shard-00001").rmdir()
    facts = json.loads(run(capsys, *given, "--json")[0])
    assert (facts["written"], facts["graphs"], facts["rows"], facts["invalid_rows"]) == (1, 8, 11, 3)
    assert [one["line"] for one in facts["invalid"]] == [4, 9, 12]


def test_the_command_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = str(file_of(tmp_path, FILES["names"])), str(tmp_path / "library")
    (tmp_path / "packed.smi").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "m.csv").write_text("smiles\nCCO\n")
    (tmp_path / "empty.smi").touch()
    for file, changed, told in (
        (source, ["--shards", "14"], "has 13 lines, so it can be cut into at most 13 shards"),
        (source, ["--invalid", "error"], "line 4, 'C1CC': it is not a SMILES; correct it, or skip such rows"),
        (source, ["--smiles", "s"], "--smiles: not with --shards, which is for one .smi file"),
        (source, ["--address", "10.0.0.1:6379"], "--address: is for --backend ray"),
        (source, ["--backend", "slurm"], "--backend slurm: known: processes, ray, inline"),
        (source, ["--shards", "0"], "--backend: is for a folder of stores; add --shards"),
        (str(tmp_path / "packed.smi"), [], "is compressed, so it cannot be cut; decompress it first"),
        (str(tmp_path / "m.csv"), [], "import it as one store, and split that with nmrgcl store shard"),
        (str(tmp_path / "empty.smi"), [], "empty.smi: is empty"),
    ):
        given = ["datasets", "import", file, "--out", out, "--shards", "2", "--backend", "inline", *changed]
        error = run(capsys, *given, code=2)[1]
        assert told in error
        assert error.count("\n") == 1
    assert not list((tmp_path / "library").glob("shard-*"))
