"""The data of cells is loaded once for consecutive cells and never confused with other data."""

from pathlib import Path

import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.data.motifs import motifs
from nmrgcl.data.stored import write_dataset
from nmrgcl.run.cell import Cell
from nmrgcl.run.cell_data import CellData, load_cell_data
from nmrgcl.settings import Settings

CPU = torch.device("cpu")


def cell_data(folder: Path, settings: Settings | None = None) -> CellData:
    return load_cell_data(Cell(str(folder), settings or Settings()), CPU)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_dataset(tmp_path / "graphs", load("motifs"))
    return tmp_path / "graphs"


def test_the_next_cell_of_the_same_data_finds_it_loaded(store: Path) -> None:
    first = cell_data(store)
    assert cell_data(store, Settings(seed=7, method="graphcl")) is first


def test_other_features_are_other_data(store: Path) -> None:
    first = cell_data(store)
    second = cell_data(store, Settings().updated({"data.features": "constant"}))
    assert second.record["sha256"] != first.record["sha256"]
    assert second.graphs.num_features == 1


def test_files_that_have_changed_are_read_again(store: Path, tmp_path: Path) -> None:
    first = cell_data(store)
    store.rename(tmp_path / "before")
    write_dataset(store, motifs(graphs=40))
    assert (first.record["graphs"], cell_data(store).record["graphs"]) == (300, 40)


def test_graphs_that_no_checked_file_stands_for_are_not_kept() -> None:
    assert load("motifs").store is None
    run = Cell("motifs", Settings())
    assert load_cell_data(run, CPU) is not load_cell_data(run, CPU)
