import hashlib
import json
from dataclasses import FrozenInstanceError, replace

import pytest

from nmrgcl.errors import DataError, SettingError
from nmrgcl.run.cell import Run, cross
from nmrgcl.settings import Settings


def test_the_key_is_the_hash_of_a_text_that_anybody_can_write() -> None:
    run = Run("MUTAG", Settings(seed=3))
    settings = json.dumps(Settings(seed=3).to_dict(), sort_keys=True, separators=(",", ":"))
    text = (
        '{"format":1,"run":{"dataset":"MUTAG","protocol":"svm","selection":"honest",'
        f'"settings":{settings},"split":"stratified"}}}}'
    )
    assert run.key == hashlib.sha256(text.encode()).hexdigest()[:32]


def test_the_key_of_the_default_cell_is_what_it_always_was() -> None:
    """Where this fails, results of earlier versions are no longer found: raise ``FORMAT`` if that is meant."""
    assert Run("MUTAG", Settings()).key == "407a700ad4a674d635f437926cb164df"


@pytest.mark.parametrize(
    ("one", "other"), [("PTC", "ptc-mr"), ("D&D", "DD"), ("imdb_b", "IMDB-BINARY"), ("Motifs", "motifs")]
)
def test_aliases_are_the_same_cell(one: str, other: str) -> None:
    assert Run(one, Settings()) == Run(other, Settings())
    assert Run(one, Settings()).key == Run(other, Settings()).key


def test_whatever_differs_is_another_cell() -> None:
    run = Run("MUTAG", Settings())
    others = [
        replace(run, dataset="./MUTAG"),
        replace(run, selection="paper"),
        replace(run, settings=Settings(seed=1)),
        replace(run, settings=Settings(method="graphcl")),
        replace(run, settings=Settings.from_dict({"lr": 2e-3})),
    ]
    assert len({cell.key for cell in [run, *others]}) == 6


def test_a_cell_is_a_value() -> None:
    run = Run("MUTAG", Settings(method="graphcl", seed=4), selection="paper")
    assert Run.from_dict(json.loads(json.dumps(run.to_dict()))) == run
    assert (run.method, run.seed) == ("graphcl", 4)
    with pytest.raises(FrozenInstanceError):
        run.dataset = "NCI1"  # type: ignore[misc]


@pytest.mark.parametrize(
    "changed",
    [
        {"dataset": ""},
        {"dataset": "a\x1b[2J"},
        {"dataset": 7},
        {"protocol": "linear"},
        {"selection": "best"},
        {"selection": ["honest"]},
        {"split": "scaffold"},
        {"settings": None},
        {"settings": {"epochs": -1}},
        {"settings": {"epoch": 1}},
        {"more": 1},
    ],
)
def test_what_is_no_cell_is_refused_in_one_line(changed: dict[str, object]) -> None:
    values = Run("MUTAG", Settings()).to_dict() | changed
    with pytest.raises((SettingError, DataError)) as caught:
        Run.from_dict(values)
    assert str(caught.value).isprintable()


def test_a_missing_part_is_named() -> None:
    values = Run("MUTAG", Settings()).to_dict()
    del values["split"]
    with pytest.raises(SettingError, match="split is missing"):
        Run.from_dict(values)
    with pytest.raises(SettingError, match="expected a run"):
        Run.from_dict([])  # type: ignore[arg-type]


def test_a_table_is_a_cross_product_without_repetition() -> None:
    rows = [Settings(method="nmrgcl"), Settings(method="untrained")]
    cells = cross(["PTC", "motifs", "PTC_MR"], rows, 3, selection="paper")
    assert len(cells) == 2 * 2 * 3
    assert [cell.seed for cell in cells[:3]] == [0, 1, 2]
    assert {cell.selection for cell in cells} == {"paper"}
