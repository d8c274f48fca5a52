"""Pre-training on a sample of a store for some steps: in chunks, killed, resumed, and identical to the byte."""

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl.cli.progress import Pace, describe
from nmrgcl.data.loading import load
from nmrgcl.errors import SettingError
from nmrgcl.methods import find_method
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.recipe import recipe
from nmrgcl.settings import Settings
from nmrgcl.train import Progress
from tests.faults import child
from tests.run.test_resume import files
from tests.test_cli import run

SMILES = ["C" * n + tail for n in range(1, 13) for tail in ("", "O", "N", "c1ccccc1")]
SMALL = {"encoder.layers": 2, "encoder.units": 8, "train.batch_size": 4, "train.chunk_graphs": 8}


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    (tmp_path / "many.smi").write_text("\n".join(SMILES) + "\n")
    return tmp_path / "many.smi"


def settings(**values: Any) -> Settings:
    return recipe("nmrgcl", level="molecule", assignments=SMALL | {f"train.{key}": v for key, v in values.items()})


def train(path: Path, out: Path, of: Settings, **options: Any) -> None:
    for _ in pretrain_seeds(load(str(path)), of, seeds=[0], out=out, device=torch.device("cpu"), **options):
        pass


@pytest.mark.parametrize("name", ["attr_masking", "context_pred", "edge_pred", "graphmae", "nmrgcl"])
def test_kill_9_at_random_batches_leaves_run_and_store_as_without_it(
    molecules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing can be saved when the process is killed. Molecules come from the store, whose bytes stay as they are."""
    more = {"options.mask_bonds": True} if name == "attr_masking" else {}
    of = recipe(name, level="molecule", assignments=SMALL | more | {"train.max_graphs": 20, "train.steps": 11})
    dataset = load(str(molecules))
    assert dataset.store is not None
    before = files(dataset.store.folder)
    assert before
    train(molecules, tmp_path / "whole", of)
    kind = find_method(name)
    losses, chance = kind.losses, random.Random(name)  # type: ignore[union-attr]
    stops = sorted(chance.sample(range(2, 11), 2))
    for stop in stops:  # The second kill happens in what the first one left to do.

        def fatal(self: Any, graphs: Any, progress: Progress, stop: int = stop) -> Any:
            if progress.step == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            return losses(self, graphs, progress)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "losses", fatal)
            every = Cadence(steps=chance.randint(1, 3))
            ended = child.run(lambda every=every: train(molecules, tmp_path / "cut", of, cadence=every, resume="auto"))  # type: ignore[misc]
        assert ended.killed, ended.told
    train(molecules, tmp_path / "cut", of, resume="yes")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert files(dataset.store.folder) == before


@pytest.mark.parametrize("stop_at", [1, 5, 7, 11])
def test_a_killed_run_continues_in_the_middle_of_an_epoch(
    molecules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    """Twenty molecules are five batches; eleven steps are two epochs and one batch."""
    of = settings(max_graphs=20, steps=11)
    train(molecules, tmp_path / "whole", of)
    seen = 0

    def counted(self: NMRGCL, *arguments: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return losses(self, *arguments)

    losses = NMRGCL.losses
    with monkeypatch.context() as patch:
        patch.setattr(NMRGCL, "losses", counted)
        with pytest.raises(Interrupted):
            train(molecules, tmp_path / "cut", of, cadence=Cadence(steps=2))
        train(molecules, tmp_path / "cut", of, resume="yes")
    assert seen == 11
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    lines = (tmp_path / "whole/seed-0/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]
    assert "effective_rank" in json.loads(lines[-1])


def test_a_sample_from_the_store_is_a_sample_from_memory(molecules: Path, tmp_path: Path) -> None:
    of = settings(max_graphs=20, steps=11)
    train(molecules, tmp_path / "chunks", of)
    train(molecules, tmp_path / "other", settings(max_graphs=21, steps=11))
    train(molecules, tmp_path / "whole", settings(max_graphs=20, steps=11, chunk_graphs=0))
    digests = [json.loads((tmp_path / name / "run.json").read_text())["data_sha256"] for name in os.listdir(tmp_path)
               if (tmp_path / name / "run.json").exists()]  # fmt: skip
    assert len(digests) == 3
    assert len(set(digests)) == 2


def test_the_command_trains_on_some_molecules_for_some_steps(
    capsys: pytest.CaptureFixture[str], molecules: Path, tmp_path: Path
) -> None:
    few = ["--set", "encoder.layers=1", "--set", "encoder.units=4", "--set", "batch_size=4", "--seeds", "1"]
    command = ["pretrain", str(molecules), *few, "--device", "cpu", "--out", str(tmp_path / "r")]
    _, err = run(capsys, *command, "--max-molecules", "20", "--steps", "7")
    assert "seed 0, epoch 2: loss" in err
    assert "molecules/s" in err
    kept = json.loads((tmp_path / "r/seed-0/config.json").read_text())["settings"]["train"]
    assert (kept["max_graphs"], kept["steps"]) == (20, 7)
    card = (tmp_path / "r/seed-0/README.md").read_text()
    assert "| Sample | at most 20 of its graphs, drawn at random |\n| Steps | 7 |" in card
    _, err = run(capsys, *command, "--steps", "7", "--set", "train.steps=8", code=2)
    assert "--set train.steps=8: --steps says 7; leave one of the two out" in err
    out, _ = run(capsys, *command, "--steps", "7", "--dry-run")
    assert json.loads(out)["estimate"]["steps"] == 7


def test_one_graph_of_nodes_has_no_sample(tmp_path: Path) -> None:
    from nmrgcl.run.cell_data import training_source

    nodes = Settings().updated({"level": "node", "train.max_graphs": 3})
    with pytest.raises(SettingError, match="a dataset of nodes has one graph"):
        training_source(load("motifs"), None, nodes, torch.device("cpu"))  # type: ignore[arg-type]


def test_progress_counts_from_the_first_batch_of_a_run_that_continues() -> None:
    now = [0.0]
    pace = Pace([3, 4], clock=lambda: now[0])
    pace.note(3, Progress(step=50, steps=100), 8)
    assert (pace.rate, pace.left) == (0.0, None)
    for step in (51, 52, 53, 54):
        now[0] += 0.5
        pace.note(3, Progress(step=step, steps=100), 8)
    assert pace.rate == 16.0  # 4 batches of 8 in 2 seconds
    assert pace.left == (46 + 100) * 0.5
    assert describe(Progress(step=54, steps=100), pace, "molecules") == "step 54 of 100, 16 molecules/s, 73 s left"
    now[0] += 1.0
    pace.note(4, Progress(step=6, steps=100), 8)
    assert (pace.done, pace.total) == (106, 200)
