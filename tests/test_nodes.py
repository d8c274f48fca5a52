"""The nodes of one graph, from a file to scores: commands, cells and the estimator."""

import json
import math
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from nmrgcl import GraphEmbedder, load
from nmrgcl.data.splits import split_nodes
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.linear import linear_score
from nmrgcl.methods import build_method
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell, cross
from nmrgcl.run.embeddings import embed_dataset
from nmrgcl.run.evaluation import read_splits
from nmrgcl.run.execute import execute
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.recipe import recipe
from nmrgcl.run.results import Results
from nmrgcl.run.sweep_pairs import compare_methods
from nmrgcl.run.sweep_table import tabulate
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import pretrain
from nmrgcl.train.checkpoint import Checkpoint
from tests.examples import random_graphs
from tests.run.cells import CPU, result_of
from tests.test_cli import run, write_tu

SMALL = ["encoder.units=16", "epochs=3"]
FAST = [part for text in SMALL for part in ("--set", text)] + ["--seeds", "2", "--device", "cpu"]
GROUPS = 3


def communities(seed: int = 0) -> nx.Graph:
    """Three groups of 40 nodes that mostly know each other, with noisy features of their group."""
    return nx.planted_partition_graph(GROUPS, 40, 0.2, 0.02, seed=seed)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One graph as JSON lines; every tenth node has no label."""
    graph, rng = communities(), np.random.default_rng(0)
    group = np.repeat(np.arange(GROUPS), 40)
    x = (np.eye(GROUPS)[group] + rng.normal(size=(120, GROUPS))).round(3)
    y = [None if node % 10 == 9 else int(group[node]) for node in range(120)]
    path = tmp_path_factory.mktemp("data") / "network.jsonl"
    path.write_text(json.dumps({"edges": [list(e) for e in graph.edges], "x": x.tolist(), "y": y}) + "\n")
    return str(path)


@pytest.fixture
def with_public_split(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network as if a split had come with it."""
    public = np.tile([1, 2, 3], 40)
    for place in ("nmrgcl.data.loading.load", "nmrgcl.run.compare.load"):
        monkeypatch.setattr(place, lambda name, **options: replace(load(name, **options), public_split=public))


@pytest.mark.usefixtures("with_public_split")
def test_one_model_on_a_split_without_seeds_has_one_score_and_no_spread(
    network: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capsys, "pretrain", network, *FAST, "--out", str(tmp_path / "r"))
    one, public = str(tmp_path / "r/seed-0"), ("--split", "public")
    out, _ = run(capsys, "evaluate", one, network, *public)
    assert "split public, once; honest selection" in out
    assert "±" not in out
    assert "seeds" not in out
    found = json.loads(run(capsys, "evaluate", one, network, *public, "--seeds", "4", "--json")[0])
    assert (len(found["scores"]), found["std"], found["untrained"]["std"], found["seeds"]) == (1, None, None, [0])
    assert list(read_splits(tmp_path / "r/seed-0")) == [0]
    both = json.loads(run(capsys, "evaluate", str(tmp_path / "r"), network, *public, "--json")[0])
    assert len(both["scores"]) == 2
    assert both["scores"][0] == found["scores"][0]
    _, err = run(capsys, "compare", one, str(tmp_path / "r/seed-1"), "--data", network, *public, code=2)
    assert "one model on one split has a single score" in err
    assert err.count("\n") == 1
    out, _ = run(capsys, "evaluate", one, network, "--seeds", "3")
    assert "split random-10-10-80 × 3 seeds of the split" in out
    assert out.count("±") == 3


def node_settings(*assignments: str, method: str = "nmrgcl", preset: str = "node") -> Settings:
    return recipe(method, preset=preset, assignments=[*SMALL, *assignments])


def test_pretrain_evaluate_and_embed_take_nodes_by_themselves(
    network: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "r")
    _, err = run(capsys, "pretrain", network, *FAST, "--out", folder)
    assert "nodes/s" in err
    out, _ = run(capsys, "evaluate", folder, network)
    assert "logistic regression on l2-normalised embeddings, C by validation; split random-10-10-80 × 2 models" in out
    out, _ = run(capsys, "evaluate", folder, network, "--split", "paper-80-10-10", "--json")
    found = json.loads(out)
    assert (found["protocol"], found["split"], found["linear"]) == ("linear", "paper-80-10-10", {"normalise": "l2"})
    data = load(network)
    assert data.y is not None
    for seed in (0, 1):
        z = embed_dataset(load_model(tmp_path / f"r/seed-{seed}"), data, CPU).z
        split = split_nodes("paper-80-10-10", data.y, seed=seed)
        assert found["folds"][seed] == [pytest.approx(linear_score(z, data.y, split).test)]
        part = read_splits(tmp_path / "r")[seed]
        assert np.array_equal(np.flatnonzero(part == 3), split.test)
        assert (part[9::10] == 0).all()  # no label, no part
    run(capsys, "report", folder, network)
    page = (tmp_path / "r/report.html").read_text()
    assert "120 nodes and" in page
    assert "logistic regression on l2-normalised embeddings" in page
    assert "embedded nearest" not in page
    out, _ = run(capsys, "compare", folder, folder, "--data", network)
    assert "+0.00 points" in out
    out, _ = run(capsys, "embed", f"{folder}/seed-0", network, "--out", str(tmp_path / "z.npz"))
    assert "120 nodes, 16 dimensions" in out
    saved = np.load(tmp_path / "z.npz")
    assert np.isnan(saved["y"][9])
    assert saved["y"][119 - 1] == 2
    out, _ = run(capsys, "evaluate", str(tmp_path / "z.npz"), "--split", "paper-80-10-10", "--seeds", "1", "--json")
    assert json.loads(out)["protocol"] == "linear"


def test_a_mistaken_level_names_the_setting_that_is_meant(
    network: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graphs = str(write_tu(tmp_path / "MINE"))
    single = tmp_path / "one.jsonl"
    single.write_text('{"edges": [[0, 1], [1, 2]]}\n')
    for arguments, words in {
        (network, "--preset", "graphcl"): "is one graph whose nodes are labelled, but level = graph embeds graphs; "
        "use preset node (level = node)",
        (network, "--method", "graphcl"): "level = graph embeds graphs; use method nmrgcl with preset node",
        (graphs, "--preset", "node"): "has 30 graphs, but level = node embeds the nodes of one graph; "
        "use preset strong (level = graph)",
        (graphs, "--method", "dgi"): "embeds the nodes of one graph; use method nmrgcl with preset strong",
        (graphs, "--preset", "graphcl", "--method", "dgi"): "method dgi embeds nodes, not graphs; use level = node",
        (
            str(single),
        ): "needs at least two graphs, this dataset has 1; to embed the nodes of its graph, use preset node",
        (
            network,
            "--set",
            "features=labels",
        ): "there are no node labels; available features: attributes, constant, degree",
    }.items():
        _, err = run(capsys, "pretrain", *arguments, "--out", str(tmp_path / "r"), "--device", "cpu", code=2)
        assert words in err
        assert err.count("\n") == 1
    assert not (tmp_path / "r").exists()
    out, _ = run(capsys, "pretrain", str(single), "--preset", "node", *FAST, "--out", str(tmp_path / "s"))
    assert "2 models" in out
    _, err = run(capsys, "evaluate", str(tmp_path / "s"), str(single), code=2)
    assert "has no node labels, so node embeddings cannot be evaluated on it" in err


def test_a_split_that_is_not_there_is_named(network: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "pretrain", network, *FAST, "--out", str(tmp_path / "r"))
    _, err = run(capsys, "evaluate", str(tmp_path / "r"), network, "--split", "public", code=2)
    assert "has no public split; choose random-10-10-80 or paper-80-10-10" in err


def test_a_cell_of_nodes_has_the_scores_of_the_commands(network: str, tmp_path: Path) -> None:
    settings = node_settings("seed=1")
    cell = Cell(network, settings)
    assert (cell.protocol, cell.split) == ("linear", "random-10-10-80")
    result = execute(cell, Results(tmp_path / "results"), device=CPU)
    list(pretrain_seeds(load(network), settings, seeds=[1], out=tmp_path / "run", device=CPU))
    data = load(network)
    z = embed_dataset(load_model(tmp_path / "run/seed-1"), data, CPU).z
    expected = linear_score(z, data.y, split_nodes("random-10-10-80", data.y, seed=1))  # type: ignore[arg-type]
    scores = {"folds": [expected.test], "mean": expected.test, "valid": expected.valid, "c": expected.c}
    assert result.scores == scores
    assert result.training["epochs"] == 3


@pytest.mark.parametrize("encoder", ["gcn", "gat"])
def test_supervised_learning_is_finetuning_a_fresh_encoder(network: str, encoder: str, tmp_path: Path) -> None:
    settings = resolve(
        f"supervised_{encoder}", assignments=["encoder.units=16", "finetune.epochs=60", "train.epochs=0"]
    )
    cell = Cell(network, settings, "finetune", split="paper-80-10-10")
    result = execute(cell, Results(tmp_path), device=CPU)
    assert result.mean >= 75
    assert result.training["epochs"] == 0
    assert [entry.method for entry in tabulate([result])] == [f"{encoder} (supervised)"]
    (epoch,) = result.scores["epochs"]
    assert 1 <= epoch <= 60


def test_graphs_are_finetuned_fold_by_fold(tmp_path: Path) -> None:
    settings = resolve(
        "supervised_graph_gin",
        assignments=["finetune.grid=none", "encoder.layers=2", "encoder.units=16", "finetune.epochs=25", "svm.folds=3"],
    )
    result = execute(Cell("motifs", settings, "finetune"), Results(tmp_path), device=CPU)
    assert len(result.scores["folds"]) == 3
    assert result.mean > 50
    again = execute(Cell("motifs", settings, "finetune"), Results(tmp_path / "again"), device=CPU)
    assert again.scores == result.scores


def test_cells_that_make_no_sense_are_refused() -> None:
    for arguments, words in {
        ("svm", "honest", ""): "protocol = 'svm' with level = node",
        ("linear", "paper", ""): "selection = 'paper' is for protocol svm",
        ("linear", "honest", "stratified"): "split = 'stratified' with level = node",
    }.items():
        with pytest.raises(SettingError, match=words):
            Cell("PubMed", node_settings(), *arguments)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="protocol = 'linear' with level = graph"):
        Cell("MUTAG", Settings(), "linear")
    assert len(cross(["PubMed"], [node_settings()], 2)) == 2


def test_sweep_makes_a_table_of_nodes(network: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["sweep", network, "--method", "cca_ssg", "--method", "untrained", "--set", "encoder.units=16"]
    command += ["--set", "train.epochs=2", "--seeds", "1", "--backend", "inline", "--device", "cpu"]
    out, _ = run(capsys, *command, "--results", str(tmp_path / "r"))
    assert "linear, random-10-10-80, honest selection" in out
    assert "cca_ssg" in out
    _, err = run(capsys, "sweep", network, "motifs", "--results", str(tmp_path / "r"), code=2)
    assert "datasets of graphs and of nodes need separate sweeps" in err


def test_methods_are_compared_by_the_sizes_of_the_split(network: str) -> None:
    """Differences 1, 2 and 3: mean 2, variance 1; with 2 degrees of freedom p is 1 − t/√(2 + t²)."""
    rows = {name: recipe(name, level="node") for name in ("grace", "untrained")}
    cells = {name: [Cell(network, replace(row, seed=seed)) for seed in range(3)] for name, row in rows.items()}
    first = {c.key: result_of(c, 80.0) for c in cells["grace"]}
    second = {c.key: result_of(c, 81.0 + c.seed) for c in cells["untrained"]}
    (found,) = compare_methods([*cells["grace"], *cells["untrained"]], first | second)
    data = load(network)
    assert data.y is not None
    parts = split_nodes("random-10-10-80", data.y)
    assert (len(parts.train), len(parts.test)) == (11, 86)
    t = 2 / math.sqrt(1 / 3 + 86 / 11)
    assert found.pairs[0].p == pytest.approx(1 - t / math.sqrt(2 + t**2))


def test_the_estimator_embeds_the_nodes_of_a_graph(tmp_path: Path) -> None:
    graph = communities()
    settings = {"train.epochs": 2, "encoder.units": 16}
    embedder = GraphEmbedder(level="node", settings=settings, device="cpu")
    z = embedder.fit_transform(graph)
    assert z.shape == (120, 16)
    embedder.save(tmp_path / "m")
    loaded = GraphEmbedder.load(tmp_path / "m", device="cpu")
    assert np.array_equal(loaded.transform(graph), z)
    assert loaded.level == "node"
    assert loaded.transform(communities(1)).shape == (120, 16)
    with pytest.raises(DataError, match="has 2 graphs, but level = node"):
        embedder.fit([graph, graph])
    assert GraphEmbedder("dgi", level="node", settings=settings, device="cpu").fit_transform(graph).shape == (120, 16)


class Shelf:
    """Remembers the last checkpoint, and asks for one after each batch."""

    def __init__(self) -> None:
        self.kept: Checkpoint | None = None

    def recall(self) -> Checkpoint | None:
        return self.kept

    def due(self, *, epoch_ended: bool) -> bool:
        return True

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        values = {name: tensor.clone() for name, tensor in checkpoint.tensors.items()}
        self.kept = Checkpoint(values, dict(checkpoint.values))


@pytest.mark.parametrize("sampling", ["none", "walk"])
@pytest.mark.parametrize("method", ["nmrgcl", "merit", "gca"])
def test_a_training_on_nodes_continues_from_a_checkpoint_to_the_same_weights(method: str, sampling: str) -> None:
    graphs = random_graphs([50], density=0.1)
    small = ["encoder.units=8", "epochs=4", "batch_size=20", f"sampling={sampling}"]
    settings = recipe(method, level="node", assignments=small)
    whole = build_method(settings, 4)
    list(pretrain(whole, graphs, settings.train))
    shelf, begun, resumed = Shelf(), build_method(settings, 4), build_method(settings, 4)
    steps = pretrain(begun, graphs, settings.train, memory=shelf)
    next(steps)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    list(pretrain(resumed, graphs, settings.train, memory=shelf))
    assert all(
        torch.equal(a, b) for a, b in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True)
    )
