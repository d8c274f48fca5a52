"""Model and run folders: what is written is read back exactly, what was touched is refused."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nmrgcl import atomic
from nmrgcl.checksums import write_checksums
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, ModelError, SettingError, UserError
from nmrgcl.methods import require_possible
from nmrgcl.model_folder import MODEL, load_model
from nmrgcl.run.embeddings import embed_dataset
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings, resolve
from tests.examples import random_graphs, with_edge_labels

CPU = torch.device("cpu")


def small(*assignments: str) -> Settings:
    return resolve("graphcl", assignments=["epochs=2", "encoder.layers=2", "encoder.units=4", *assignments])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "motifs"
    list(pretrain_seeds(load("motifs"), small(), seeds=range(2), out=out, device=CPU))
    return out


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def test_a_run_holds_a_model_a_seed_with_settings_and_metrics(run: Path) -> None:
    assert sorted(p.name for p in run.iterdir()) == [".lock", "run.json", "seed-0", "seed-1", "settings.json"]
    assert resolve(config=run / "settings.json") == small()
    for seed, folder in enumerate(find_models(run)):
        model = load_model(folder)
        assert model.settings == small(f"seed={seed}")
        assert model.data_sha256 == json.loads((run / "run.json").read_text())["data_sha256"]
        assert resolve(config=folder / "config.json") == model.settings
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert [line["epoch"] for line in lines] == [1, 2]
        assert all(line["loss"] > 0 for line in lines)
        times = [json.loads(line) for line in (folder / "timings.jsonl").read_text().splitlines()]
        assert all(line["seconds"] > 0 and line["graphs_per_second"] > 0 for line in times)
        assert lines[-1]["effective_rank"] >= 1


def test_the_card_says_what_the_model_is(run: Path) -> None:
    card = (run / "seed-1/README.md").read_text()
    assert card.startswith("---\nlibrary_name: nmrgcl")
    for fact in (
        "| Dataset | motifs |",
        "| Seed | 1 |",
        "| SHA-256 of the data | ",
        "2 layers × 4 units",
        "labels, 3 columns",
        "2203.12821",
    ):
        assert fact in card
    assert "README.md" in (run / "seed-1/SHA256SUMS").read_text()


def test_a_seed_repeats_byte_for_byte(run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    list(pretrain_seeds(load("motifs"), small(), seeds=[1], out=again, device=CPU))
    model = "seed-1/model.safetensors"
    assert (again / model).read_bytes() == (run / model).read_bytes()


def test_an_interrupted_seed_leaves_nothing(tmp_path: Path) -> None:
    steps = pretrain_seeds(load("motifs"), small(), seeds=range(2), out=tmp_path / "run", device=CPU)
    assert isinstance(steps, Iterator)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [".lock", "run.json", "settings.json"]


def test_an_earlier_run_is_kept_unless_it_may_go(copy: Path) -> None:
    before = (copy / "seed-0/config.json").read_bytes()
    with pytest.raises(SettingError, match="--overwrite"):
        list(pretrain_seeds(load("motifs"), small(), seeds=[0], out=copy, device=CPU))
    assert (copy / "seed-0/config.json").read_bytes() == before
    list(pretrain_seeds(load("motifs"), small("epochs=1"), seeds=[0], out=copy, device=CPU, overwrite=True))
    assert sorted(p.name for p in copy.iterdir()) == [".lock", "run.json", "seed-0", "settings.json"]


def test_a_folder_with_other_things_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(SettingError, match="holds no run"):
        list(pretrain_seeds(load("motifs"), small(), seeds=[0], out=tmp_path, device=CPU, overwrite=True))
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "metrics.jsonl"])
def test_a_changed_byte_is_noticed(copy: Path, name: str) -> None:
    file = copy / "seed-0" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelError, match=f"{name}: checksum"):
        load_model(copy / "seed-0")


def test_missing_pieces_are_named(copy: Path) -> None:
    (copy / "seed-0/model.safetensors").unlink()
    with pytest.raises(ModelError, match="model.safetensors: missing"):
        load_model(copy / "seed-0")
    (copy / "seed-1/SHA256SUMS").unlink()
    with pytest.raises(ModelError, match="SHA256SUMS"):
        load_model(copy / "seed-1")
    with pytest.raises(ModelError, match="no such run"):
        find_models(copy / "nowhere")
    (copy / "empty").mkdir()
    with pytest.raises(ModelError, match="holds no models"):
        find_models(copy / "empty")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"settings": {"encoder": {"units": 5}}},
        {"settings": {"epoch": 3}},
        {"features": {"kind": "labels"}},
        {"settings": []},
        {"features": None},
    ],
)
def test_a_config_that_does_not_fit_is_refused_even_with_fresh_checksums(copy: Path, change: dict[str, object]) -> None:
    folder = copy / "seed-0"
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    write_checksums(folder)
    with pytest.raises(Exception) as caught:
        load_model(folder)
    assert type(caught.value).__module__ == "nmrgcl.errors"
    assert "\n" not in str(caught.value)


def test_one_model_is_judged_on_several_fold_seeds_and_several_models_on_their_own(run: Path) -> None:
    data = load("motifs")
    several = evaluate_run(run, data, device=CPU, jobs=1, overrides=["svm.c=default"]).to_dict()
    assert several["varied"] == "model"
    assert len(several["scores"]) == 2
    one = evaluate_run(run / "seed-0", data, device=CPU, jobs=1, fold_seeds=3, overrides=["c=default"]).to_dict()
    assert one["varied"] == "folds"
    assert len(one["scores"]) == 3
    assert [len(row) for row in one["folds"]] == [10] * 3
    assert one["folds"][0] == several["folds"][0]
    with pytest.raises(SettingError, match="svm"):
        evaluate_run(run, data, device=CPU, overrides=["epochs=3"])


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "a.txt", "one")
    with pytest.raises(UnicodeEncodeError):
        atomic.write_text(tmp_path / "a.txt", "two \udcff")
    assert (tmp_path / "a.txt").read_text() == "one"

    def fail() -> None:
        with atomic.new_folder(tmp_path / "folder", MODEL) as folder:
            (folder / "half").write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.fixture
def bonded(tmp_path: Path) -> Dataset:
    """Forty small graphs with labels on nodes and edges."""
    graphs = random_graphs([5, 6, 7, 4] * 10, density=0.5, categorical=True)
    return dataset_of(with_edge_labels(graphs, (3, 2)))


@pytest.mark.parametrize("encoder", ["gin", "molecule"])
def test_a_model_remembers_the_edge_labels_it_knows(bonded: Dataset, encoder: str, tmp_path: Path) -> None:
    settings = small("data.edges=labels", f"encoder.name={encoder}")
    list(pretrain_seeds(bonded, settings, seeds=[0], out=tmp_path / "run", device=CPU))
    (folder,) = find_models(tmp_path / "run")
    assert json.loads((folder / "config.json").read_text())["features"]["edges"]["labels"] == [[1, 2, 3], [1, 2]]
    card = (folder / "README.md").read_text()
    assert "| Edge features | labels, 5 columns |" in card
    assert "must have the node and edge features" in card
    z = embed_dataset(load_model(folder), bonded, CPU).z
    assert bonded.edge_labels is not None
    flipped = replace(bonded, edge_labels=np.where(bonded.edge_labels == 1, 2, bonded.edge_labels))
    assert not np.allclose(embed_dataset(load_model(folder), flipped, CPU).z, z, atol=1e-3)
    strange = replace(bonded, edge_labels=np.where(bonded.edge_labels == 3, 9, bonded.edge_labels))
    with pytest.raises(DataError, match="has the label 9, which is not among the 3 labels the model knows"):
        embed_dataset(load_model(folder), strange, CPU)
    assert np.isfinite(embed_dataset(load_model(folder), strange, CPU, unknown="zero").z).all()
    with pytest.raises(DataError, match="these features need edge labels"):
        embed_dataset(load_model(folder), replace(bonded, edge_labels=None), CPU)
    assert len(evaluate_run(tmp_path / "run", bonded, device=CPU, jobs=1).to_dict()) > 0


def test_a_model_from_before_there_were_edge_features_loads(copy: Path) -> None:
    before = load_model(copy / "seed-0")
    config = json.loads((copy / "seed-0/config.json").read_text())
    assert "edges" not in config["features"]
    del config["settings"]["data"]["edges"]
    (copy / "seed-0/config.json").write_text(json.dumps(config))
    write_checksums(copy / "seed-0")
    after = load_model(copy / "seed-0")
    assert (after.settings, after.features) == (before.settings, before.features)


def test_edge_features_wider_than_the_weights_are_refused_before_anything_is_built(copy: Path) -> None:
    config = json.loads((copy / "seed-0/config.json").read_text())
    config["features"]["edges"] = {"kind": "attributes", "width": 2**40, "labels": None}
    (copy / "seed-0/config.json").write_text(json.dumps(config))
    write_checksums(copy / "seed-0")
    with pytest.raises(ModelError, match="its settings need more weights than there are"):
        load_model(copy / "seed-0")


@pytest.mark.parametrize(
    ("assignments", "told"),
    [
        (["data.edges=attributes"], "graphs: there are no edge attributes; available edge features: labels, none"),
        (["data.edges=labels", "encoder.name=gcn"], "encoder gcn reads no edge features; set data.edges=none"),
        (["data.edges=auto", "encoder.name=gat", "encoder.units=8"], "encoder gat reads no edge features"),
        (["data.edges=edge"], "data.edges = 'edge'"),
    ],
)
def test_edge_features_that_are_missing_or_unreadable_are_reported_before_anything_is_written(
    bonded: Dataset, assignments: list[str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=told) as refused:
        list(pretrain_seeds(bonded, small(*assignments), seeds=[0], out=tmp_path / "run", device=CPU))
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("method", "told"),
    [("merit", "method merit reads no edge features"), ("untrained", "molecule reads labels of edges")],
)
def test_what_no_data_makes_possible_is_told_without_data(method: str, told: str) -> None:
    level = {"level": "node", "encoder.name": "gcn"} if method == "merit" else {"encoder.name": "molecule"}
    settings = Settings().updated({"method": method, **level, "data.edges": "attributes"})
    with pytest.raises(SettingError, match=told):
        require_possible(settings)
