"""Cells whose encoder was pre-trained on another dataset: one pre-training for all datasets and seeds."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.finetune import FinetuneScore, Task
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.run import execute as executing
from nmrgcl.run import finetuning
from nmrgcl.run.cell import Cell, Start
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import execute
from nmrgcl.run.recipe import recipe
from nmrgcl.run.results import Results, parse_result
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import pretrain
from tests.predict.planted import OXYGEN, SMILES, write
from tests.run.test_execute import epochs_trained

CPU = torch.device("cpu")
NETWORK = ["encoder.units=8", "encoder.layers=2"]
KNOWN = ("6c36ab6779152e4f90bdb43a9d862a9f", "d3fd97bdfa1ac3c13a0b8763ace0d3f2")
PLAIN = ["C" * n + tail for n in range(1, 11) for tail in ("", "O", "N", "c1ccccc1")]


@pytest.fixture
def unlabelled(tmp_path: Path) -> Path:
    (tmp_path / "zinc.smi").write_text("\n".join(PLAIN) + "\n")
    return tmp_path / "zinc.smi"


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return write(tmp_path / "labelled.csv", oxygen=[*map(int, OXYGEN)])


@pytest.fixture
def others(tmp_path: Path) -> Path:
    return write(tmp_path / "others.csv", odd=[len(smiles) % 2 for smiles in SMILES])


def start(path: Path, *more: str, method: str = "graphcl") -> Start:
    given = [*NETWORK, "train.epochs=2", "train.batch_size=8", *more]
    return Start(str(path), resolve("molecules", assignments=given, method=method))


def tuned(*more: str) -> Settings:
    return resolve("supervised_molecules", assignments=[*NETWORK, "finetune.epochs=2", *more])


def cell(path: Path, begin: Start | None, seed: int = 0) -> Cell:
    return Cell(str(path), tuned(f"seed={seed}"), "finetune", split="scaffold", start=begin)


def test_keys_name_a_start_only_where_there_is_one(unlabelled: Path, labelled: Path) -> None:
    without, given = cell(labelled, None), cell(labelled, start(unlabelled))
    assert "start" not in without.named()
    assert "start" not in without.to_dict()
    assert without.key != given.key != cell(labelled, start(unlabelled, "train.max_graphs=10")).key
    assert given.method == f"graphcl ({unlabelled})"
    assert given.named() == without.named() | {"start": start(unlabelled).named()}


def test_the_key_of_a_known_cell_is_what_it_was() -> None:
    """Keys from before cells could have a start."""
    known = Cell("BBBP", resolve("supervised_molecules"), "finetune", split="scaffold")
    assert (known.key, known.training) == KNOWN


def test_cells_of_all_datasets_and_seeds_have_one_pre_training(unlabelled: Path, labelled: Path, others: Path) -> None:
    begin = start(unlabelled)
    cells = [cell(path, begin, seed) for path in (labelled, others) for seed in (0, 1)]
    assert len({one.training for one in cells}) == 1
    assert len({one.key for one in cells}) == 4
    judged = start(unlabelled, "svm.standardise=false", "finetune.lr=0.5")
    assert judged == begin  # Evaluation settings are ignored.
    assert cell(labelled, start(unlabelled, "seed=1")).training != cells[0].training


def test_a_cell_is_the_same_after_a_file(unlabelled: Path, labelled: Path, tmp_path: Path) -> None:
    given = cell(labelled, start(unlabelled), seed=3)
    assert Cell.from_dict(json.loads(json.dumps(given.to_dict()))) == given
    made = execute(given, Results(tmp_path / "r"), device=CPU)
    assert parse_result(made.to_json(), "text").cell == given
    assert made.data["name"] == "labelled"
    assert (made.data["start"]["name"], made.data["start"]["graphs"]) == ("zinc", len(PLAIN))
    assert made.training["epochs"] == 2


@pytest.mark.parametrize("chunk", [0, 8])
def test_fine_tuning_begins_with_the_encoder_that_was_pre_trained(
    unlabelled: Path, labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    begin, given = start(unlabelled, f"train.chunk_graphs={chunk}", "train.max_graphs=30"), list[dict[str, Any]]()

    def made_up(tasks: list[Task], *arguments: Any, **options: Any) -> list[FinetuneScore]:
        for task in tasks:  # There is a single split.
            assert isinstance(task.model.encoder, Pretraining)
            given.append(task.model.encoder.encoder.state_dict())
            assert task.model.encoder.encoder.dropout == 0.5
        return [FinetuneScore(50.0, 50.0, 1) for _ in tasks]

    monkeypatch.setattr(finetuning, "finetune_scores", made_up)
    execute(cell(labelled, begin, seed=5), Results(tmp_path / "r"), device=CPU)

    data = load(str(unlabelled))
    features = choose_features(data, edges="labels")
    method = build_pretraining(begin.settings, features.width, features.edge_shape)
    order = torch.randperm(len(PLAIN), generator=torch.Generator().manual_seed(0))[:30].sort().values
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # Like cells.
    list(pretrain(method, apply_features(data, features).take(order), begin.settings.train, seed=0))
    torch.set_num_threads(threads)
    expected = method.encoder.state_dict()
    assert all(torch.equal(given[0][name], value) for name, value in expected.items())
    assert len(given) == 1
    assert len(given[0]) == len(expected) > 0


def test_one_cell_pre_trains_and_the_others_take_its_encoder(
    unlabelled: Path, labelled: Path, others: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [cell(path, start(unlabelled), seed) for path in (labelled, others) for seed in (0, 1)]
    alone = [execute(one, Results(tmp_path / one.key), device=CPU).scores for one in cells]
    trained = epochs_trained(monkeypatch)
    read = list[str]()
    sourced = executing.CellData.source
    monkeypatch.setattr(
        executing.CellData,
        "source",
        lambda self, of: [read.append("data"), sourced(self, of)][1],  # type: ignore[func-returns-value]
    )
    summary = run_cells(cells, tmp_path / "together", backend="inline", device="cpu")
    assert summary.complete
    assert trained == [1, 2]
    assert read == ["data"]  # Only the cell that trains reads the training data.
    results = Results(tmp_path / "together")
    found = [results.get(one.key) for one in cells]
    assert [one and one.scores for one in found] == alone
    assert [one and one.times.get("trained_by") for one in found] == [None, *[cells[0].key] * 3]
    assert alone[0] != alone[1]  # The seeds of fine-tuning differ.


def test_pre_training_changes_the_scores(unlabelled: Path, labelled: Path, tmp_path: Path) -> None:
    results = Results(tmp_path / "r")
    begins = [None, start(unlabelled), start(unlabelled, "train.lr=0.01")]
    valid = [execute(cell(labelled, begin), results, device=CPU).training["effective_rank"] for begin in begins]
    assert len(set(valid)) == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"settings": ["encoder.units=9"]}, "encoder: .*units=9.* but the pre-training has .*units=8"),
        ({"settings": ["data.edges=none"]}, "data: .*; use the same settings"),
        ({"settings": ["method=graphcl", "train.epochs=1"]}, "method graphcl trains; a cell with a start needs"),
        ({"protocol": "svm", "split": "stratified", "selection": "paper"}, "evaluates during training"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(change: dict[str, Any], told: str) -> None:
    values: dict[str, Any] = {"protocol": "finetune", "split": "scaffold"} | change
    settings = tuned(*values.pop("settings", ()))
    with pytest.raises(SettingError, match=told):
        Cell("BBBP", settings, start=start(Path("zinc.smi")), **values)


@pytest.mark.parametrize("method", ["untrained", "wl"])
def test_a_start_must_pre_train_an_encoder(method: str) -> None:
    with pytest.raises(SettingError, match=f"method {method} does not pre-train an encoder"):
        Start("BBBP", recipe(method))


def test_a_damaged_start_is_one_clear_line() -> None:
    values = cell(Path("x.csv"), start(Path("zinc.smi"))).to_dict()
    half = {"dataset": "x", "method": "graphcl", "settings": 1}
    for wrong, told in ((3, "start: expected dataset, method and settings"), (half, "start: expected a table")):
        with pytest.raises(SettingError, match=told):
            Cell.from_dict(values | {"start": wrong})
