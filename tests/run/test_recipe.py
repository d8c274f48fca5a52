"""Commands, tables, cells and estimators resolve settings in the same way."""

from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl import GraphEmbedder, load
from nmrgcl.errors import SettingError
from nmrgcl.methods import find_method, method_names
from nmrgcl.model_folder import load_model, weights_digest
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import execute
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.recipe import free_assignments, recipe
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings
from tests.test_cli import run

CPU = torch.device("cpu")
SMALL = {"train.epochs": 2, "encoder.layers": 2, "encoder.units": 8, "train.batch_size": 16}
WRONG = {"encoder.name": "gin"}
"""A setting that contradicts MVGRL's definition."""


@pytest.mark.parametrize("name", [name for name in method_names() if find_method(name).FIXED])
def test_what_a_method_fixes_holds_whatever_the_preset_says(name: str) -> None:
    settings = recipe(name, preset="strong")
    for key, value in find_method(name).FIXED.items():
        group, leaf = key.split(".")
        assert getattr(getattr(settings, group), leaf) == value


def test_a_method_refuses_what_it_does_not_mean_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "method mvgrl means encoder.name = 'gcn', not 'gin'"
    with pytest.raises(SettingError, match=words):
        recipe("mvgrl", level="node", assignments=WRONG)
    with pytest.raises(SettingError, match=words):
        GraphEmbedder("mvgrl", level="node", settings=WRONG, device="cpu").fit("MUTAG")
    cell = Cell("MUTAG", Settings(method="mvgrl"))
    with pytest.raises(SettingError, match=words):
        execute(cell, Results(tmp_path), device=CPU)
    out, err = run(capsys, "pretrain", "MUTAG", "--method", "mvgrl", "--set", "encoder.name=gin", code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert words in err


def test_in_a_table_each_method_keeps_its_own_meaning() -> None:
    given = ["encoder.name=gin", "alpha=0.3", "delta=0.2", "epochs=3"]
    assert free_assignments("mvgrl", given) == {"alpha": 0.3, "epochs": 3}
    assert free_assignments("nmrgcl", given) == {"encoder.name": "gin", "delta": 0.2, "epochs": 3}
    settings = recipe("mvgrl", level="node", assignments=given, method_wins=True)
    assert (settings.encoder.name, settings.options.alpha, settings.train.epochs) == ("gcn", 0.3, 3)
    with pytest.raises(SettingError, match="unknown setting 'detla'; did you mean delta"):
        free_assignments("nmrgcl", ["detla=0.2"])


def test_the_method_that_is_named_twice_must_be_the_same() -> None:
    with pytest.raises(SettingError, match="settings: method=dgi, but the method is graphcl"):
        recipe("graphcl", assignments=["method=dgi"])


def test_the_method_may_come_from_an_assignment() -> None:
    assert recipe(assignments=["method=graphcl"]) == recipe("graphcl")
    assert recipe("merit", level="node") == recipe("merit", preset="merit")


def test_the_estimator_knows_a_preset_s_values_for_a_dataset() -> None:
    embedder = GraphEmbedder("gca", level="node")
    named, other = embedder._resolved("amazon-computers", "node"), embedder._resolved(object(), "node")
    assert named == recipe("gca", level="node", dataset="Amazon-Computers")
    assert (named.encoder.units, other.encoder.units) == (128, 256)


@pytest.mark.parametrize("more", [{}, {"train.chunk_graphs": 40}])
def test_the_estimator_trains_what_the_command_trains(tmp_path: Path, more: dict[str, Any]) -> None:
    chosen = SMALL | more
    fitted = GraphEmbedder(preset="graphcl", settings=chosen, random_state=3, device="cpu").fit("MUTAG")
    settings = recipe("nmrgcl", preset="graphcl", assignments=chosen, dataset="MUTAG")
    list(pretrain_seeds(load("MUTAG"), settings, seeds=[3], out=tmp_path / "run", device=CPU))
    model = load_model(tmp_path / "run" / "seed-3")
    assert model.settings == fitted.model_.settings
    assert weights_digest(model.method) == weights_digest(fitted.model_.method)
