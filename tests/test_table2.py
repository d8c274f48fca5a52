"""The list of Table 2's cells, and how a finished cell is set beside printed figures."""

import argparse

import pytest
from benchmarks.table2 import ROWS, TABLE, most_seconds, summarise, wanted

from nmrgcl.errors import SettingError
from nmrgcl.methods import build_method
from nmrgcl.run.cell import Run
from tests.run.cells import result_of

ALL = argparse.Namespace(set=[], most_epochs=0, seeds=0, split=[])


def cells(only: list[str], **changed: object) -> list[Run]:
    args = argparse.Namespace(**vars(ALL) | changed)
    return [run for row, column in wanted(only) for run in row.cells(column, args)]


def test_every_row_has_every_dataset_seed_and_split_once() -> None:
    runs = cells([])
    five, three = 3, 7  # rows with so many seeds; PubMed has three splits, the others two
    assert len(runs) == len({run.key for run in runs}) == (3 + 2 + 2 + 2) * (five * 5 + three * 3)
    assert {run.split for run in runs if run.dataset != "PubMed"} == set(TABLE["splits"])
    assert {run.settings.level for run in runs} == {"node"}


def test_rows_can_be_built_and_differ_by_dataset_where_their_presets_do() -> None:
    for row in ROWS:
        for name in TABLE["datasets"]:
            build_method(row.settings(name, ALL), 3)
    units = [run.settings.encoder.units for run in cells(["GCA"], seeds=1, split=["random-10-10-80"])]
    assert units == [256, 256, 256, 128]


def test_some_rows_and_columns() -> None:
    assert {(run.method, run.dataset) for run in cells(["nmrgcl/photo", "DGI/PubMed"])} == {
        ("nmrgcl", "Amazon-Photo"),
        ("dgi", "PubMed"),
    }
    assert len(cells(["/Computers"], seeds=1, split=["paper-80-10-10"])) == len(ROWS)
    for only, words in {"GRAC": "did you mean GRACE", "GRACE/Cora": "no column 'Cora'"}.items():
        with pytest.raises(SettingError, match=words):
            wanted([only])


def test_fewer_epochs_are_never_more() -> None:
    short = {run.method: run.settings.train.epochs for run in cells(["/PubMed"], most_epochs=150)}
    assert (short["untrained"], short["cca_ssg"], short["nmrgcl"]) == (0, 100, 150)
    assert most_seconds(cells(["nmrGCL/PubMed"], most_epochs=2)[0]) < 1


def test_a_figure_is_compared_with_what_was_printed_for_the_same_split() -> None:
    row = next(row for row in ROWS if row.name == "DGI")
    public, random = (cells(["DGI/PubMed"], split=[name])[0] for name in ("public", "random-10-10-80"))
    entry = summarise(row, "PubMed", "public", [result_of(public, 77.0), result_of(public, 78.0)], 1)
    assert (entry["mean"], entry["n"], entry["missing"]) == (77.5, 2, 1)
    assert entry["std"] == pytest.approx(0.5**0.5)
    assert entry["to_paper"] == pytest.approx(77.5 - 77.3)
    assert entry["to_published"] == pytest.approx(77.5 - 76.8)
    other = summarise(row, "PubMed", "random-10-10-80", [result_of(random, 86.0)], 0)
    assert other["to_published"] is None
    assert summarise(row, "PubMed", "public", [], 3)["n"] == 0
