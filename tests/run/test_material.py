"""What cells are computed from: loaded once for those that follow each other, and never mistaken for another's."""

from pathlib import Path

import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.data.motifs import motifs
from nmrgcl.data.stored import write_dataset
from nmrgcl.run.cell import Cell
from nmrgcl.run.material import Material, load_material
from nmrgcl.settings import Settings

CPU = torch.device("cpu")


def material(folder: Path, settings: Settings | None = None) -> Material:
    return load_material(Cell(str(folder), settings or Settings()), CPU)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_dataset(tmp_path / "graphs", load("motifs"))
    return tmp_path / "graphs"


def test_the_next_cell_of_the_same_data_finds_it_loaded(store: Path) -> None:
    first = material(store)
    assert material(store, Settings(seed=7, method="graphcl")) is first


def test_other_features_are_other_material(store: Path) -> None:
    first = material(store)
    second = material(store, Settings().updated({"data.features": "constant"}))
    assert second.record["sha256"] != first.record["sha256"]
    assert second.graphs.num_features == 1


def test_files_that_have_changed_are_read_again(store: Path, tmp_path: Path) -> None:
    first = material(store)
    store.rename(tmp_path / "before")
    write_dataset(store, motifs(graphs=40))
    assert (first.record["graphs"], material(store).record["graphs"]) == (300, 40)


def test_graphs_that_no_checked_file_stands_for_are_not_kept() -> None:
    assert load("motifs").store is None
    run = Cell("motifs", Settings())
    assert load_material(run, CPU) is not load_material(run, CPU)
