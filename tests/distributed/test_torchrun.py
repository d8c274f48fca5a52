"""``torchrun -m nmrgcl pretrain``, its own agents included: restarts, and nodes that find each other."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.distributed.commands import run_agents, run_ranks
from tests.distributed.crew import free_port

METHOD = '''
"""GraphCL, whose rank 1 is killed in its fourth batch if torchrun has not restarted it yet."""

import os
import signal

from nmrgcl.methods.graphcl import GraphCL


class Killed(GraphCL):
    def losses(self, graphs, progress):
        if progress.step == 3 and os.environ["RANK"] == "1" and os.environ.get("NMRGCL_TEST_KILL"):
            if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                os.kill(os.getpid(), signal.SIGKILL)
        yield from super().losses(graphs, progress)


METHOD = Killed
'''
SMALL = ["--seeds", "1", "--epochs", "2", "--batch-size", "64", "--set", "encoder.units=8", "--set", "layers=1"]
ENDING = ["--checkpoint-steps", "2", "--quiet"]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A small training of a method that may be killed."""
    method = tmp_path_factory.mktemp("method") / "killed.py"
    method.write_text(METHOD, encoding="utf-8")
    return ["pretrain", "motifs", "--preset", "graphcl", "--method", str(method), *SMALL, *ENDING]


@pytest.fixture(scope="module")
def expected(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The weights that two ranks arrive at without an interruption."""
    folder = tmp_path_factory.mktemp("expected")
    ended = run_ranks(folder, *2 * [[*command, "--out", str(folder / "run")]])
    assert ended.codes == [0, 0], ended.said
    return weights(folder)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = load_file(folder / "run" / "seed-0" / "model.safetensors")
    return found


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_restart_after_a_rank_was_killed_ends_with_the_same_bits(
    command: list[str], expected: dict[str, torch.Tensor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NMRGCL_TEST_KILL", "1")
    agent = ["--nproc-per-node", "2", "--max-restarts", "1", "--standalone", "--local-addr", "127.0.0.1"]
    ended = run_agents(tmp_path, [*agent, "-m", "nmrgcl", *command, "--out", str(tmp_path / "run")])
    assert ended.codes == [0], ended.said
    assert "failed (exitcode: -9) local_rank: 1" in ended.said[0]
    assert f"1 model in {tmp_path / 'run'}" in ended.said[0]
    assert equal(weights(tmp_path), expected)


def test_two_nodes_with_one_rank_each_train_the_model_of_one_node_with_two(
    command: list[str], expected: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    meeting = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}"]
    agent = [*meeting, "--rdzv-id", str(os.getpid()), "--nproc-per-node", "1", "--local-addr", "127.0.0.1"]
    ended = run_agents(tmp_path, *2 * [[*agent, "-m", "nmrgcl", *command, "--out", str(tmp_path / "run")]])
    assert ended.codes == [0, 0], ended.said
    assert sum("1 model in" in said for said in ended.said) == 1
    assert equal(weights(tmp_path), expected)
