"""The folder of a fine-tuned model: complete, checked, and never somebody else's."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from nmrgcl.atomic import new_folder
from nmrgcl.checksums import write_checksums
from nmrgcl.data.molecules import Molecules, featurise
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.predict.finetune import Outcome, finetune_molecules
from nmrgcl.predict.folder import NAME, PREDICTOR, RECORD, WEIGHTS, load_predictor, save_predictor
from nmrgcl.run.cell_data import digest_of
from tests.predict.planted import read, tiny

pytest.importorskip("rdkit", reason="RDKit reads SMILES")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Molecules]:
    molecules = read(tmp_path_factory.mktemp("data") / "planted.csv", "oxygen")
    settings = tiny("seed=3")
    return finetune_molecules(molecules, settings, split="random", seeds=2, device=CPU), molecules


@pytest.fixture
def folder(fitted: tuple[Outcome, Molecules], tmp_path: Path) -> Path:
    path = tmp_path / "model"
    with new_folder(path, PREDICTOR) as filling:
        save_predictor(filling, fitted[0].predictor, fitted[0].origin)
    return path


def forge(folder: Path, **changed: Any) -> None:
    """Values of the record changed by someone who knows how to make checksums."""
    values = RECORD.parse((folder / NAME).read_text())
    RECORD.write(folder / NAME, {**values, **changed})
    write_checksums(folder)


def test_what_comes_back_predicts_the_same(folder: Path, fitted: tuple[Outcome, Molecules]) -> None:
    outcome, molecules = fitted
    predictor, origin = load_predictor(folder)
    ours, theirs = (one.predict(molecules.graphs) for one in (outcome.predictor, predictor))
    for name in ("mean", "spread", "probability"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert predictor.tasks == ("oxygen",)
    assert predictor.settings == outcome.predictor.settings
    assert predictor.known.smiles == outcome.predictor.known.smiles
    np.testing.assert_array_equal(predictor.known.packed, outcome.predictor.known.packed)
    assert origin == outcome.origin
    assert origin.seeds == [3, 4]
    whole = digest_of(molecules.graphs).encode() + molecules.labels.tobytes()
    assert origin.data_sha256 == hashlib.sha256(whole).hexdigest()
    assert sorted(origin.split["train"] + origin.split["valid"] + origin.split["test"]) == list(range(len(molecules)))


def test_numbers_come_back_with_their_unit(tmp_path: Path) -> None:
    molecules = read(tmp_path / "planted.csv", "length", "oxygen")
    outcome = finetune_molecules(molecules, tiny(), split="random", seeds=1, task="numbers", device=CPU)
    (tmp_path / "m").mkdir()
    save_predictor(tmp_path / "m", outcome.predictor, outcome.origin)
    predictor, _ = load_predictor(tmp_path / "m")
    graphs, _ = featurise(["CCO", "c1ccccc1"])
    np.testing.assert_array_equal(predictor.predict(graphs).mean, outcome.predictor.predict(graphs).mean)
    assert predictor.calibration is None


def test_the_card_has_the_scores_and_the_command(folder: Path, fitted: tuple[Outcome, Molecules]) -> None:
    card = (folder / "README.md").read_text()
    assert "| ECFP + random forest |" in card
    assert f"{fitted[0].rows[0].scores['roc_auc'][0]:.3g}" in card
    assert "nmrgcl predict this-folder new.csv" in card


@pytest.mark.parametrize("name", [NAME, WEIGHTS, "README.md"])
def test_a_changed_or_missing_file_is_named(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name}: checksum does not match"):
        load_predictor(folder)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name}: missing"):
        load_predictor(folder)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tasks": ["oxygen", "another"]}, "the weights head.weight are missing or do not match the settings"),
        ({"tasks": []}, "tasks, goal or seeds"),
        ({"seeds": [3, 4, 5]}, "do not match the settings"),
        ({"goal": "classes"}, "tasks, goal or seeds"),
        ({"calibration": {"slope": [1.0, 2.0], "offset": [0.0, 0.0]}}, "calibration does not match"),
        ({"calibration": None}, "not a usable fine-tuned model"),
        ({"settings": {"encoder.units": 2**31 - 1}}, "."),
        ({"settings": {"encoder.layers": 900}}, "do not match the settings"),
        ({"settings": {"encoder.name": "mine.py:Net"}}, "unknown encoder"),
        ({"settings": {"nonsense": 1}}, "unknown setting"),
    ],
)
def test_a_forged_record_is_refused(folder: Path, changed: dict[str, Any], message: str) -> None:
    if "settings" in changed:
        whole = RECORD.parse((folder / NAME).read_text())["settings"]
        changed = {"settings": {**whole, **changed["settings"]}}
    forge(folder, **changed)
    with pytest.raises(ModelError, match=message) as error:
        load_predictor(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("wrong", ["shape", "kind", "nan"])
def test_forged_weights_are_refused(folder: Path, wrong: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    name = "members.1.head.bias"
    value = tensors[name]
    replaced = {"shape": value.repeat(2), "kind": value.double(), "nan": value * torch.nan}
    save_file({**tensors, name: replaced[wrong]}, folder / WEIGHTS)
    write_checksums(folder)
    with pytest.raises(ModelError, match="head.bias"):
        load_predictor(folder)


def test_a_record_of_another_kind_or_version_is_refused(folder: Path, tmp_path: Path) -> None:
    values = json.loads((folder / NAME).read_text())
    newer = replace(RECORD, version=2)
    newer.write(folder / NAME, {k: v for k, v in values.items() if k not in ("format", "version", "checksum")})
    write_checksums(folder)
    with pytest.raises(ModelError, match="written by a newer version .*upgrade nmrgcl"):
        load_predictor(folder)
    with pytest.raises(ModelError, match="no such folder; nmrgcl finetune creates one"):
        load_predictor(tmp_path / "nowhere")


def test_a_folder_of_somebody_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="contains no fine-tuned model"), new_folder(tmp_path / "theirs", PREDICTOR):
        pass
    assert [p.name for p in tmp_path.rglob("*")] == ["theirs", "notes.txt"]


def test_writing_that_fails_leaves_nothing(fitted: tuple[Outcome, Molecules], tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_folder(tmp_path / "model", PREDICTOR) as filling:
            save_predictor(filling, fitted[0].predictor, fitted[0].origin)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
