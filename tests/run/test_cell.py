import hashlib
import json
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Any

import pytest

from nmrgcl import method_files
from nmrgcl.errors import DataError, SettingError
from nmrgcl.methods.nmrgcl import NMRGCL, Options
from nmrgcl.run.cell import Cell, cross
from nmrgcl.settings import Settings, SVMSettings, TrainSettings, read_assignments, schema

FROZEN = {
    "MUTAG": "71cff48b0bd0a4fd342115c6129e08a2",
    "MUTAG seed=4": "fe4402523dd8dbc1cc7930e1f9514bcb",
    "PROTEINS selection=paper tau=0.1 encoder.units=128 encoder.layers=5": "5276dbbd53d5284d23189c6718fc0ccf",
    "NCI1 removal=both where=representation": "b8dd842b5d4b1524393f990dee6d013d",
    "MUTAG method=graphcl": "905aff33742543a6a45f9095a9b3fcf8",
    "DD method=graphcl protocol=lssvm tau=0.5 head_units=64": "13da863a2d141a7457ca28174a597598",
    "MUTAG method=untrained epochs=0": "acbf39e823ad48a838140b8bd5e65601",
    "PubMed level=node method=grace tau=0.7": "664fffcdbd5b88b233cadd13d3c49779",
    "PubMed level=node method=dgi split=public": "b5bc23fac4f1a748d0abaac9534d2047",
    "Amazon-Photo level=node method=mvgrl diffusion=heat keep=16": "96f20707d9fefd0ecb2cbf90203e91f5",
    "Amazon-Photo level=node method=merit momentum=0.9 data.scale=rows": "55189495766a864d9d556b7121f6c99a",
    "Coauthor-CS level=node method=cca_ssg split=paper-80-10-10": "2d425b13bd89d1328ff0e32811000c90",
    "IMDB-BINARY protocol=finetune finetune.lr=0.003 method=untrained epochs=0": "841c5cfa5cf4a0b5cea5eb9e86fbaa8d",
    "motifs views.first=Identity svm.c=fine": "cf1932f0b7191d5b35b9939fc9819091",
}
"""Cells that differ in one respect, and their keys."""


def described(cell: str) -> Cell:
    dataset, *texts = cell.split(" ")
    values: dict[str, Any] = read_assignments(texts)
    how = {name: values.pop(name) for name in ("protocol", "selection", "split") if name in values}
    return Cell(dataset, Settings.from_dict(values), **how)


def forget_methods() -> None:
    method_files._hints.cache_clear()
    schema._defaults.cache_clear()


def test_the_key_is_the_hash_of_a_text_that_anybody_can_write() -> None:
    run = Cell("MUTAG", Settings(seed=3).updated({"tau": 0.5, "encoder.units": 64, "epochs": 20}))
    text = (
        '{"dataset":"MUTAG","format":2,"method":"nmrgcl","protocol":"svm","selection":"honest",'
        '"settings":{"encoder.units":64,"options.tau":0.5,"seed":3},"split":"stratified"}'
    )
    assert run.key == hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(("cell", "key"), FROZEN.items(), ids=[cell.replace(" ", "-") for cell in FROZEN])
def test_keys_are_what_they_always_were(cell: str, key: str) -> None:
    """If this fails, stored results are no longer found."""
    assert described(cell).key == key


@pytest.fixture
def new_option(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Options]]:
    """The options of nmrGCL as a later version may have them."""

    @dataclass(frozen=True)
    class More(Options):
        new: int = 3

    with monkeypatch.context() as patch:
        patch.setitem(NMRGCL.__annotations__, "options", More)
        forget_methods()
        yield More
    forget_methods()


def test_a_new_option_changes_no_key(new_option: type[Options]) -> None:
    assert Settings().options == new_option()
    assert {cell: described(cell).key for cell in FROZEN} == FROZEN
    other = Settings(options=new_option(new=4))  # type: ignore[call-arg]  # mypy knows today's options
    assert Cell("MUTAG", other).key not in FROZEN.values()


@pytest.mark.parametrize("cell", FROZEN)
def test_edge_features_change_no_key_unless_they_are_asked_for(cell: str) -> None:
    assert described(f"{cell} data.edges=none").key == FROZEN[cell]
    others = {described(f"{cell} data.edges={edges}").key for edges in ("auto", "labels", "attributes")}
    assert len(others | {FROZEN[cell]}) == 4


@pytest.mark.parametrize(
    ("kind", "others"), [(NMRGCL, "MUTAG method=graphcl"), (TrainSettings, None), (SVMSettings, None)]
)
def test_a_higher_format_changes_the_keys_of_what_it_is_about(
    kind: type, others: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = described("MUTAG"), described("MUTAG").key, described("MUTAG").training
    others_before = described(others).key if others else None
    monkeypatch.setattr(kind, "FORMAT", 2, raising=False)
    assert described("MUTAG").key != before[1]
    assert (described("MUTAG").training != before[2]) == (kind is not SVMSettings)
    assert others is None or described(others).key == others_before


@pytest.mark.parametrize(
    ("one", "other"), [("PTC", "ptc-mr"), ("D&D", "DD"), ("imdb_b", "IMDB-BINARY"), ("Motifs", "motifs")]
)
def test_aliases_are_the_same_cell(one: str, other: str) -> None:
    assert Cell(one, Settings()) == Cell(other, Settings())
    assert Cell(one, Settings()).key == Cell(other, Settings()).key


def test_whatever_differs_is_another_cell() -> None:
    run = Cell("MUTAG", Settings())
    others = [
        replace(run, dataset="./MUTAG"),
        replace(run, selection="paper"),
        replace(run, settings=Settings(seed=1)),
        replace(run, settings=Settings(method="graphcl")),
        replace(run, settings=Settings.from_dict({"lr": 2e-3})),
    ]
    assert len({cell.key for cell in [run, *others]}) == 6


def test_a_cell_is_a_value() -> None:
    run = Cell("MUTAG", Settings(method="graphcl", seed=4), selection="paper")
    assert Cell.from_dict(json.loads(json.dumps(run.to_dict()))) == run
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
    values = Cell("MUTAG", Settings()).to_dict() | changed
    with pytest.raises((SettingError, DataError)) as caught:
        Cell.from_dict(values)
    assert str(caught.value).isprintable()


def test_a_missing_part_is_named() -> None:
    values = Cell("MUTAG", Settings()).to_dict()
    del values["split"]
    with pytest.raises(SettingError, match="split is missing"):
        Cell.from_dict(values)
    with pytest.raises(SettingError, match="expected a cell"):
        Cell.from_dict([])  # type: ignore[arg-type]


def test_a_table_is_a_cross_product_without_repetition() -> None:
    rows = [Settings(method="nmrgcl"), Settings(method="untrained")]
    cells = cross(["PTC", "motifs", "PTC_MR"], rows, 3, selection="paper")
    assert len(cells) == 2 * 2 * 3
    assert [cell.seed for cell in cells[:3]] == [0, 1, 2]
    assert {cell.selection for cell in cells} == {"paper"}
