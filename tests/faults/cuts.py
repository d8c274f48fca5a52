"""Every I/O step of whatever writes files, cut once: the process dies just before it, and nothing is torn."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmrgcl.data.motifs import motifs
from nmrgcl.run.embeddings import Embeddings, read_embeddings, write_embeddings
from nmrgcl.run.pack import read_pack, write_pack
from nmrgcl.run.results import Result, Results
from nmrgcl.store import open_store, write_store
from tests.faults import child
from tests.faults.small import (
    DATA,
    SETTINGS,
    assert_same,
    assert_whole,
    files,
    scratch,
    small_result,
    train,
    uninterrupted,
)
from tests.faults.steps import Steps
from tests.faults.tally import Tally


@dataclass(frozen=True)
class Writer:
    """Something that writes into a folder.

    Attributes:
        work: what is cut; doing it again must mend whatever the cut left.
        whole: raises unless what has its final name is whole, right after the cut.
        before: what is there already.
        tidy: whether doing it again also removes the hidden files that the cut left.
    """

    name: str
    work: Callable[[Path], None]
    whole: Callable[[Path], None]
    before: Callable[[Path], None] = lambda folder: None
    tidy: bool = False


def cuts(steps_between: int = 1, every: int = 1) -> Tally:
    """Each step of each writer, or ``every`` so many; the run keeps a checkpoint ``steps_between`` so many batches."""
    tally = Tally("every I/O step cut once, nothing torn, resumed to the same bytes")
    with tally.timed(), scratch() as folder:
        uninterrupted()
        result = small_result(folder / "made")
        for writer in _writers(steps_between, result):
            steps = _count(writer, folder / writer.name)
            expected = files(folder / writer.name)
            tally.facts[writer.name] = dict(Counter(steps))
            for number in range(1, len(steps) + 1, every):
                with tally.trial(f"{writer.name}, before step {number} ({steps[number - 1]})"):
                    _cut(writer, folder / "cut", number, expected)
                shutil.rmtree(folder / "cut", ignore_errors=True)
    return tally


def _count(writer: Writer, folder: Path) -> list[str]:
    folder.mkdir()
    writer.before(folder)
    ended = child.run(lambda: _watched(writer, folder, 0)).expect(child.DONE)
    steps: list[str] = ended.value
    return steps


def _watched(writer: Writer, folder: Path, stop_at: int) -> list[str]:
    steps = Steps(stop_at)
    steps.watch()
    writer.work(folder)
    return list(steps.done)  # before telling the parent, which is a write itself


def _cut(writer: Writer, folder: Path, number: int, expected: dict[str, bytes]) -> None:
    folder.mkdir()
    writer.before(folder)
    child.run(lambda: _watched(writer, folder, number)).expect(-9)
    writer.whole(folder)
    child.run(lambda: writer.work(folder)).expect(child.DONE)
    if not writer.tidy:
        for stray in folder.glob(".*"):
            shutil.rmtree(stray) if stray.is_dir() else stray.unlink()
    assert_same(folder, expected)


def _writers(steps_between: int, result: Result) -> list[Writer]:
    return [
        Writer(
            "run",
            lambda folder: train(folder / "run", steps=steps_between),
            lambda folder: assert_whole(folder / "run"),
            tidy=True,
        ),
        Writer(
            "run-replaced",
            lambda folder: train(folder / "run", seeds=1, steps=0, overwrite=True),
            lambda folder: assert_whole(folder / "run"),
            before=_train_other_run,
            tidy=True,
        ),
        Writer("store", _write_store, _whole_store),
        Writer("store-replaced", _write_store, _whole_store, before=_write_other_store),
        Writer("embeddings", _write_embeddings, _whole_embeddings),
        Writer(
            "result",
            lambda folder: Results(folder).put(result),
            lambda folder: _whole_result(folder, result),
            tidy=True,
        ),
        Writer("pack of results", lambda folder: _write_pack(folder, result), _whole_pack),
    ]


def _train_other_run(folder: Path) -> None:
    """In a child, because the parent of all children stays as it is."""
    other = SETTINGS.updated({"lr": 0.5})
    child.run(lambda: train(folder / "run", settings=other)).expect(child.DONE)


def _whole_result(folder: Path, result: Result) -> None:
    assert Results(folder).get(result.key) in (None, result)


def _write_pack(folder: Path, result: Result) -> None:
    write_pack(folder / "all.nmrgcl-results", [result])


def _whole_pack(folder: Path) -> None:
    if (folder / "all.nmrgcl-results").exists():
        assert len(read_pack(folder / "all.nmrgcl-results")) == 1


def _write_store(folder: Path) -> None:
    write_store(folder / "store", DATA.graphs, meta={"number": 1})


def _write_other_store(folder: Path) -> None:
    write_store(folder / "store", motifs(graphs=7).graphs, meta={"number": 0})


def _whole_store(folder: Path) -> None:
    if (folder / "store").exists():
        open_store(folder / "store", verify=True).graphs()


def _write_embeddings(folder: Path) -> None:
    z = np.arange(300.0).reshape(100, 3)
    write_embeddings(Embeddings(z, np.arange(100) % 3, np.arange(100)), folder / "z.npz")


def _whole_embeddings(folder: Path) -> None:
    if (folder / "z.npz").exists():
        assert len(read_embeddings(folder / "z.npz").z) == 100
