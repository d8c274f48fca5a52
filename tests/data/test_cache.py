import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

from nmrgcl.data.cache import cached
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.loading import load
from nmrgcl.store import Store
from tests.examples import random_graphs
from tests.test_store import assert_equal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def assert_same(one: Dataset, two: Dataset) -> None:
    assert_equal(one.graphs, two.graphs)
    for field in fields(Dataset):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
        elif issparse(left):
            np.testing.assert_array_equal(left.toarray(), right.toarray())
        elif field.name not in ("held", "notes", "sizes", "store"):
            assert left == right
            assert type(left) is type(right)


class Reader:
    """Counts how often the files are read."""

    def __init__(self, source: Path) -> None:
        graphs = random_graphs([4, 0, 9], categorical=True)
        self.count = 0
        self.dataset = Dataset(
            name="T",
            held=graphs,
            classes=(-1, 1),
            node_labels=np.arange(graphs.num_nodes)[:, None] - 2,
            edge_attributes=np.ones((graphs.num_edges, 2), np.float32),
            self_loops=3,
            source=str(source),
        )

    def __call__(self) -> Dataset:
        self.count += 1
        return self.dataset


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "T.zip").write_bytes(b"archive")
    (tmp_path / "files").mkdir()
    return tmp_path / "T.zip"


@pytest.mark.parametrize("name", ["PROTEINS", "IMDB-BINARY"])
def test_the_second_load_opens_the_store_and_gives_the_same(
    mirror: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NMRGCL_MIRROR", str(mirror))
    fresh = load(name)
    assert [p.name.rpartition("-")[0] for p in (home / "stores").iterdir()] == [name]
    monkeypatch.setattr("nmrgcl.data.loading.read_tu", lambda *_: pytest.fail("the files were read again"))
    assert_same(fresh, load(name))


def test_files_are_read_once_until_they_change(source: Path) -> None:
    reader = Reader(source)
    for _ in range(3):
        assert_same(reader.dataset, cached("T", source, reader))
    assert reader.count == 1
    os.utime(source, (1, 1))
    cached("T", source, reader)
    assert reader.count == 2


def _cut(folder: Path) -> None:
    (folder / "source.bin").write_bytes(b"")


def _flip(folder: Path) -> None:
    content = bytearray((folder / "extra.node_labels.bin").read_bytes())
    content[0] ^= 1
    (folder / "extra.node_labels.bin").write_bytes(content)


def _remove_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@pytest.mark.parametrize("spoil", [_cut, _flip, _remove_manifest])
def test_a_damaged_entry_is_replaced(home: Path, source: Path, spoil: Callable[[Path], None]) -> None:
    reader = Reader(source)
    cached("T", source, reader)
    (folder,) = (home / "stores").iterdir()
    spoil(folder)
    assert_same(reader.dataset, cached("T", source, reader))
    assert_same(reader.dataset, cached("T", source, reader))
    assert reader.count == 2


def test_eight_first_loads_at_once_leave_one_entry(home: Path, source: Path) -> None:
    for number in range(6):
        os.utime(source, (number, number))  # another archive, which nobody has read
        children, (gate, open_gate) = [], os.pipe()
        for _ in range(8):
            if not (child := os.fork()):
                try:
                    os.close(open_gate)
                    os.read(gate, 1)  # until all of them are there
                    assert_same(Reader(source).dataset, cached("T", source, Reader(source)))
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        os.close(gate)
        os.close(open_gate)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
        assert len(list((home / "stores").iterdir())) == number + 1


def test_graphs_that_turn_out_damaged_are_read_anew(home: Path, source: Path) -> None:
    reader = Reader(source)
    cached("T", source, reader)
    (folder,) = (home / "stores").iterdir()
    content = bytearray((folder / "source.bin").read_bytes())
    content[0] ^= 1
    (folder / "source.bin").write_bytes(content)
    opened = cached("T", source, reader)
    assert opened.statistics == reader.dataset.statistics
    assert reader.count == 1
    assert_same(reader.dataset, opened)
    assert reader.count == 2
    assert_same(reader.dataset, cached("T", source, reader))
    assert reader.count == 2


def test_opening_reads_no_graphs(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(source)
    cached("T", source, reader)
    monkeypatch.setattr(Store, "take", lambda *_: pytest.fail("graphs were read"))
    assert cached("T", source, reader).statistics == reader.dataset.statistics


def test_nothing_is_kept_where_nothing_can_be_written(home: Path, source: Path) -> None:
    home.write_text("a file where the folder should be")
    reader = Reader(source)
    for _ in range(2):
        assert_same(reader.dataset, cached("T", source, reader))
    assert reader.count == 2


def test_a_folder_is_known_by_its_files(source: Path) -> None:
    reader = Reader(source)
    for _ in range(2):
        assert_same(reader.dataset, replace(cached("T", source.parent / "files", reader), source=str(source)))
    (source.parent / "files" / "more").write_text("changed")
    cached("T", source.parent / "files", reader)
    assert reader.count == 2


def test_what_is_cached_can_be_changed_without_changing_the_cache(source: Path) -> None:
    reader = Reader(source)
    cached("T", source, reader)
    first = cached("T", source, reader)
    first.graphs.x.fill_(0)
    assert first.node_labels is not None
    with pytest.raises(ValueError, match="read-only"):
        first.node_labels[:] = 0
    assert_same(reader.dataset, cached("T", source, reader))
