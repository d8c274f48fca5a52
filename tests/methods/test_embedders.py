"""What every method without an encoder promises; a new file in ``methods/`` is picked up by itself."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
import torch

from nmrgcl import GraphEmbedder, load
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.kernel_svm import kernel_nested
from nmrgcl.evaluate.svm import svm_scores
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder, Level, build_method, build_pretraining, find_method
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell
from nmrgcl.run.diagnosis import diagnose_model
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.execute import execute
from nmrgcl.run.pretrain import estimate_cost, pretrain_seeds
from nmrgcl.run.results import Results
from nmrgcl.train import pretrain
from tests.methods.members import DATA, EMBEDDERS, GRAPHS, known_here, settings_of
from tests.methods.planted import planted_graphs

CPU = torch.device("cpu")
SEPARATED = 75.0
"""Accuracy in percent on three planted classes; degrees alone reach 85."""
WEAKER = {"sub2vec": 50.0}
"""Walks see no labels, and of degrees only their share of a graph's size; chance is 33."""
QUICK = {"sub2vec": ["walks=2"]}
"""Settings for tests that are about other things than quality."""


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with known_here():
        yield


@pytest.fixture(params=EMBEDDERS, ids=[" of ".join(member) for member in EMBEDDERS])
def member(request: pytest.FixtureRequest) -> tuple[str, Level]:
    found: tuple[str, Level] = request.param
    return found


def fitted(name: str, graphs: Graphs, level: Level = "graph") -> Embedder:
    settings = settings_of(name, level=level)
    method = build_method(settings, graphs.num_features)
    assert isinstance(method, Embedder)
    assert list(pretrain(method, graphs, settings.train, seed=settings.seed)) == []
    return method


def test_fitting_twice_gives_the_same_bits(member: tuple[str, Level]) -> None:
    name, level = member
    one = fitted(name, DATA[level], level)
    torch.rand(17)
    other = fitted(name, DATA[level], level)
    for key, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[key])
    assert torch.equal(one.embed(DATA[level]), other.embed(DATA[level]))


@pytest.mark.parametrize("name", [name for name, level in EMBEDDERS if level == "graph"])
def test_embeddings_come_one_per_graph_and_do_not_depend_on_the_batch(name: str) -> None:
    method = fitted(name, GRAPHS)
    z = method.embed(GRAPHS)
    parts = torch.cat([method.embed(GRAPHS.take(torch.tensor([i]))) for i in range(len(GRAPHS))])
    assert z.shape == (len(GRAPHS), method.width)
    assert bool(z.isfinite().all())
    torch.testing.assert_close(parts, z, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name, level in EMBEDDERS if level == "graph"])
def test_planted_classes_are_separated(name: str) -> None:
    """By the method's own kernels where it has any, as the SVM protocol judges it."""
    graphs, y = planted_graphs()
    method = fitted(name, graphs)
    kernels = method.kernels(graphs)
    if kernels is None:
        scores = svm_scores(method.embed(graphs).numpy(), y, seed=0, c="default", jobs=1)
    else:
        scores = kernel_nested(kernels.numpy(), y, seed=0, jobs=1).outer
    assert scores.mean() > WEAKER.get(name, SEPARATED)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("selection", ["honest", "paper"])
@pytest.mark.parametrize("name", ["wl", "dgk"])
def test_a_method_with_kernels_is_judged_on_a_gpu_as_on_the_cpu(
    name: str, selection: Literal["honest", "paper"], tmp_path: Path
) -> None:
    cell, scores = Cell("motifs", settings_of(name), selection=selection), []
    for device in ("cpu", "cuda"):
        result = execute(cell, Results(tmp_path / device), device=torch.device(device))
        scores.append(np.array(result.scores["folds"]))
    assert np.abs(scores[0] - scores[1]).mean() <= 2.0  # three graphs of 150


@pytest.mark.parametrize("name", [name for name, level in EMBEDDERS if level == "graph"])
def test_a_model_without_an_encoder_is_saved_loaded_judged_and_diagnosed(name: str, tmp_path: Path) -> None:
    settings = settings_of(name, *QUICK.get(name, []))
    embedder = GraphEmbedder(name, settings=settings.to_dict(), device="cpu").fit("motifs")
    z = embedder.transform("motifs")
    embedder.save(tmp_path / "model")
    again = GraphEmbedder.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.transform("motifs"), z)
    assert list(embedder.get_feature_names_out()) == [f"z{i}" for i in range(z.shape[1])]
    found = evaluate_run(tmp_path / "model", load("motifs"), device=CPU, fold_seeds=1)
    assert found.untrained is None  # there is no encoder that it could start from
    assert diagnose_model(load_model(tmp_path / "model"), load("motifs"), CPU, "model").found.layers == []
    assert estimate_cost(load("motifs"), settings, seeds=1, device=CPU).steps == 0
    cell = Cell("motifs", settings)
    assert execute(cell, Results(tmp_path), device=CPU).mean == pytest.approx(found.trained.folds.mean(), abs=3)
    with pytest.raises(SettingError, match="has no encoder that protocol finetune could train"):
        replace(cell, protocol="finetune")
    with pytest.raises(SettingError, match=f"method {name} has no encoder, but one is needed here"):
        build_pretraining(settings, 3)


def test_kernels_of_its_own_are_what_the_svm_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings of zeros say nothing: the scores are those of the kernels."""
    kind = cast(type[Embedder], find_method("histogram"))
    honest = kind.embed

    def kernels(self: Embedder, graphs: Graphs) -> torch.Tensor:
        z = honest(self, graphs)
        return torch.stack([torch.eye(len(z)), z @ z.T])

    monkeypatch.setattr(kind, "kernels", kernels)
    monkeypatch.setattr(kind, "embed", lambda self, graphs: honest(self, graphs) * 0)
    cell = Cell("motifs", settings_of("histogram"))
    scores = execute(cell, Results(tmp_path), device=CPU).scores
    assert scores["mean"] > 60
    paper = execute(replace(cell, selection="paper"), Results(tmp_path), device=CPU)
    assert paper.mean >= scores["mean"]
    GraphEmbedder("histogram", settings={"svm.standardise": False}, device="cpu").fit("motifs").save(tmp_path / "model")
    found = evaluate_run(tmp_path / "model", load("motifs"), device=CPU, fold_seeds=1)
    np.testing.assert_allclose(found.trained.folds[0], scores["folds"])


@pytest.mark.parametrize("name", [name for name, level in EMBEDDERS if level == "graph"])
def test_a_run_without_an_encoder_continues_after_a_kill(name: str, tmp_path: Path) -> None:
    """Fitting begins again, with the same result; what was complete is left as it is."""
    settings = settings_of(name, *QUICK.get(name, []))
    options: dict[str, Any] = {"seeds": [0, 1], "device": CPU}
    for out in (tmp_path / "whole", tmp_path / "again"):
        assert list(pretrain_seeds(load("motifs"), settings, out=out, **options)) == []
    shutil.rmtree(tmp_path / "again" / "seed-1")
    list(pretrain_seeds(load("motifs"), settings, out=tmp_path / "again", resume="yes", **options))
    for seed in (0, 1):
        one, other = (tmp_path / run / f"seed-{seed}" / "model.safetensors" for run in ("whole", "again"))
        assert one.read_bytes() == other.read_bytes()
