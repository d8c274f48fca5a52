"""Results of version 1 under today's keys. The old key function and cells are frozen here: never change them."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl import GraphEmbedder
from nmrgcl.checksums import checksum_of
from nmrgcl.errors import DataError, SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.migrate import migrate_item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.run.cell import Cell
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import execute
from nmrgcl.run.migrate import migrate_folder, migrate_pack, old_key, old_keys, old_settings
from nmrgcl.run.pack import read_pack
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, read_config
from nmrgcl.settings.renamed import renamed
from tests.test_cli import run as command

ROOT = Path(__file__).parents[2]
OLD = json.loads((Path(__file__).parent / "version1.json").read_text())
"""A cell of every method and protocol, and of every item, as version 1 wrote it."""
KEYED = {"table1": 797, "table2": 369, "figure5": 240, "figure6": 240, "figure7": 540, "figure8": 1960}
"""Rows with a key in ``results/`` when they were migrated."""


def key_of_version_1(cell: dict[str, Any]) -> str:
    text = json.dumps({"format": 1, "run": cell}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def line_of_version_1(cell: dict[str, Any], **changed: Any) -> str:
    facts: dict[str, Any] = {name: {} for name in ("training", "data", "versions", "hardware", "times")}
    scores = {"folds": [50.0, 75.0], "mean": 62.5}
    values = {"format": "nmrgcl-result", "version": 1, "key": key_of_version_1(cell), "run": cell, "status": "done"}
    values |= {"scores": scores, "chosen": None, **facts, "error": None, **changed}
    return json.dumps(values | {"checksum": checksum_of(values)})


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    settings = {"epochs": 1, "encoder.layers": 2, "encoder.units": 4, "tau": 0.3, "head_units": 5, "finetune.lr": 0.5}
    GraphEmbedder(settings=settings, device="cpu").fit("motifs").save(tmp_path / "model")
    return tmp_path / "model"


def today(cell: dict[str, Any]) -> Cell:
    return Cell.from_dict(cell | {"settings": renamed(cell["settings"])})


@pytest.mark.parametrize("key", OLD)
def test_every_old_cell_is_found_by_its_old_key(key: str) -> None:
    assert key_of_version_1(OLD[key]) == key == old_key(OLD[key])
    assert key in old_keys(today(OLD[key]))


def test_old_settings_come_back_as_they_were_but_for_what_their_method_does_not_read() -> None:
    for cell in OLD.values():
        found = old_settings(today(cell).settings)
        assert found | {"loss": cell["settings"]["loss"]} == cell["settings"]


@pytest.mark.parametrize("name", KEYED)
def test_every_keyed_row_of_the_stored_results_is_found(name: str) -> None:
    values = json.loads((ROOT / "results" / f"{name}.json").read_text())
    column = values["columns"].index("key")
    keys = [row[column] for row in values["rows"] if row[column]]
    assert len(keys) >= KEYED[name]
    assert set(keys) <= {placed.cell.key for placed in find_item(name).cells(Plan.from_dict(values["plan"]))}


def test_an_item_of_version_1_gets_new_keys_and_keeps_all_else(tmp_path: Path, capsys: Any) -> None:
    now = json.loads((ROOT / "results" / "figure5.json").read_text())
    item, column = find_item("figure5"), now["columns"].index("key")
    old = {placed.cell.key: old_keys(placed.cell)[0] for placed in item.cells(Plan.from_dict(now["plan"]))}
    text = (ROOT / "results" / "figure5.json").read_text()
    for key in [row[column] for row in now["rows"]]:
        text = text.replace(key, old[key])
    path = tmp_path / "figure5.json"
    path.write_text(text)
    _, err = command(capsys, "reproduce", "figure5", "--render-only", "--from", str(path), code=2)
    assert "the keys of an earlier version; run nmrgcl results migrate" in err
    assert migrate_item(path) == (240, 240)
    assert path.read_text() == (ROOT / "results" / "figure5.json").read_text()
    assert migrate_item(path) == (240, 0)
    path.write_text(text.replace(old[now["rows"][0][column]], "0" * 32))
    with pytest.raises(DataError, match="the key 0{32} is of no cell that its plan asks for"):
        migrate_item(path)


def test_a_folder_of_version_1_is_refused_then_migrated_and_nothing_is_computed_again(
    tmp_path: Path, capsys: Any
) -> None:
    for cell in OLD.values():
        (tmp_path / f"{key_of_version_1(cell)}.json").write_text(line_of_version_1(cell) + "\n")
    cells = [today(cell) for cell in OLD.values()]
    with pytest.raises(DataError, match=f"earlier version; nmrgcl results migrate {tmp_path} brings them up to date"):
        run_cells(cells, tmp_path, device="cpu")
    out, _ = command(capsys, "results", "migrate", str(tmp_path))
    assert out == f"{tmp_path}: {len(OLD)} keys, {len(OLD)} of them were old; every one is found\n"
    assert migrate_folder(tmp_path) == (len(OLD), 0)
    assert set(run_cells(cells, tmp_path, device="cpu").skipped) == {cell.key for cell in cells}
    assert execute(cells[0], Results(tmp_path), device=torch.device("cpu")).mean == 62.5


def test_a_failed_cell_and_a_damaged_one(tmp_path: Path) -> None:
    cell = next(iter(OLD.values()))
    failed = line_of_version_1(cell, status="failed", scores={}, error={"type": "DataError", "message": "gone"})
    (tmp_path / f"{key_of_version_1(cell)}.failed.json").write_text(failed)
    assert migrate_folder(tmp_path) == (1, 1)
    assert [result.key for result in Results(tmp_path).failed()] == [today(cell).key]
    path = tmp_path / f"{key_of_version_1(cell)}.json"
    path.write_text(line_of_version_1(cell).replace("62.5", "63.5"))
    with pytest.raises(DataError, match=f"{path}: damaged"):
        migrate_folder(tmp_path)


def test_a_pack_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "old.nmrgcl-results"
    head = json.dumps({"format": "nmrgcl-results", "version": 1, "results": len(OLD)})
    path.write_bytes(gzip.compress("\n".join([head, *map(line_of_version_1, OLD.values()), ""]).encode()))
    with pytest.raises(DataError, match="line 2: written by an earlier version .format 1.; nmrgcl results migrate"):
        read_pack(path)
    assert migrate_pack(path) == (len(OLD), len(OLD))
    assert {result.key for result in read_pack(path)} == {today(cell).key for cell in OLD.values()}
    assert migrate_pack(path) == (len(OLD), 0)


def test_a_model_and_a_config_of_version_1_are_read(tmp_path: Path, tiny_model: Path) -> None:
    config = json.loads((tiny_model / "config.json").read_text())
    new = load_model(tiny_model).settings
    config |= {"format": 1, "settings": old_settings(new)}
    (tiny_model / "config.json").write_text(json.dumps(config))
    sums = (tiny_model / "SHA256SUMS").read_text().splitlines()
    digest = hashlib.sha256((tiny_model / "config.json").read_bytes()).hexdigest()
    (tiny_model / "SHA256SUMS").write_text(
        "".join(f"{digest}  config.json\n" if line.endswith("  config.json") else f"{line}\n" for line in sums)
    )
    assert load_model(tiny_model).settings == new
    assert Settings.from_dict(read_config(tiny_model / "config.json")) == new
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(old_settings(new)))
    assert Settings.from_dict(read_config(settings)) == new


def test_an_old_name_is_told_with_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("removal.delta = 0.5\n")
    with pytest.raises(SettingError, match=r"mine\.toml: removal\.delta is now called delta"):
        Settings().updated(read_config(path), source=str(path))
