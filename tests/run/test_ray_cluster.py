"""What is checked before anything is sent to a Ray cluster; none is needed for these checks."""

import socket
from pathlib import Path

import pytest

from nmrgcl.errors import SettingError
from nmrgcl.run import ray_cluster
from tests.test_cli import run

OURS = {"python": "3.11", "nmrgcl": "1.0", "torch": "2.6.0"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"torch": "2.5.0"},
            "the worker 10.0.0.2 has torch 2.5.0, but 2.6.0 is needed; install the same version there",
        ),
        ({"python": "3.12"}, "has python 3.12, but 3.11 is needed"),
        ({"nmrgcl": ""}, "has no nmrgcl, but 1.0 is needed"),
        ({"folder": "False"}, "does not see .*results; choose a folder that all machines share"),
    ],
)
def test_a_worker_must_have_our_versions_and_see_the_folder(changed: dict[str, str], told: str) -> None:
    found = {**OURS, "folder": "True"}
    ray_cluster._require_same(found, OURS, "10.0.0.2", Path("results"))
    with pytest.raises(SettingError, match=told):
        ray_cluster._require_same(found | changed, OURS, "10.0.0.2", Path("results"))


def test_where_nobody_answers_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SettingError, match=rf"--address 127.0.0.1:{port}: no Ray cluster answers there"):
            ray_cluster._require_answer(f"127.0.0.1:{port}")
    with pytest.raises(SettingError, match="no Ray cluster answers there"):  # The port is closed now.
        ray_cluster._require_answer(f"ray://127.0.0.1:{port}")
    for wrong in ("here", "here:", ":6379", "here:99999", "here:x"):
        with pytest.raises(SettingError, match="expected HOST:PORT"):
            ray_cluster._require_answer(wrong)


@pytest.mark.parametrize("command", [["sweep", "motifs"], ["tune", "motifs"], ["reproduce", "table1", "--quick"]])
def test_options_of_another_backend_are_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for given, told in (
        (["--address", "10.0.0.1:6379"], "--address: is for --backend ray, but the backend is processes; leave it out"),
        (["--slurm", "partition=gpu", "--backend", "ray"], "--slurm: is for --backend slurm, but the backend is ray"),
        (["--backend", "cloud"], "--backend cloud: known: inline, processes, ray, slurm"),
    ):
        assert told in run(capsys, *command, *given, "--dry-run", code=2)[1]
