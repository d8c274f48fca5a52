"""Cells and libraries on a real Ray cluster on this machine; ``make test-ray`` installs Ray."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version as installed
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.data.motifs import motifs
from nmrgcl.data.read import import_path
from nmrgcl.data.shards import merge_stores, shard_store
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.run import ray_cluster
from nmrgcl.run.cell import Cell
from nmrgcl.run.embed_library import ShardOutcome, ShardTask, embed_library, embed_shard, plan_library
from nmrgcl.run.embeddings import embed_dataset, read_embeddings
from nmrgcl.run.engine import run_cells
from nmrgcl.run.execute import CellOutcome, compute_cell, execute
from nmrgcl.run.import_library import ImportOutcome, ImportTask, import_library, import_shard, plan_import
from nmrgcl.run.results import Results
from tests.run.cells import CPU, quick
from tests.tiny_molecules import SMILES, save_other_model

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-ray installs it")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
POISON, FRAIL, NOWHERE = quick(seed=7), quick(seed=8), quick("./nowhere/X")


@pytest.fixture(autouse=True, scope="module")
def local_ray() -> Iterator[None]:
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)  # The GPU exists only in name.
    yield
    ray.shutdown()


def deadly(cell: Cell, folder: Path, device: str, stop: Path) -> CellOutcome:
    """A worker that always dies on one cell, dies once on another, and counts how often each cell is computed."""
    if cell == POISON or (cell == FRAIL and not (folder / "died").exists()):
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with (folder / f"computed-{cell.key}").open("a") as log:
        log.write("x")
    return compute_cell(cell, folder, device, stop)


def test_ray_gives_the_results_of_this_process_and_survives_dying_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmrgcl.run.backends.compute_cell", deadly)
    cells = [quick(), NOWHERE, FRAIL, POISON, quick(seed=1), quick(seed=2)]
    found = run_cells(cells, tmp_path, backend="ray", jobs=2, device="cpu")
    fine = [quick(), FRAIL, quick(seed=1), quick(seed=2)]
    assert sorted(found.done) == sorted(cell.key for cell in fine)
    assert (found.failed, found.lost) == ((NOWHERE.key,), (POISON.key,))
    assert [(tmp_path / f"computed-{cell.key}").read_text() for cell in fine] == ["x"] * 4  # none twice
    here, there = execute(quick(), Results(tmp_path / "here"), device=CPU), Results(tmp_path).get(quick().key)
    assert there is not None
    assert (there.scores, there.training) == (here.scores, here.training)
    again = run_cells(fine, tmp_path, backend="ray", jobs=2, device="cpu")
    assert sorted(again.skipped) == sorted(cell.key for cell in fine)


def dying_once(task: ShardTask) -> ShardOutcome:
    """A worker that dies while it embeds the second store for the first time."""
    if task.first and not (task.out.parent / "died").exists():
        (task.out.parent / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return embed_shard(task)


def test_a_library_is_embedded_on_ray_although_a_worker_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dataset(tmp_path / "store", motifs(30))
    stores, model, out = shard_store(tmp_path / "store", tmp_path / "s", 3), tmp_path / "model", tmp_path / "z"
    save_other_model(model)
    monkeypatch.setattr("nmrgcl.run.embed_library.embed_shard", dying_once)
    tasks = plan_library(model, stores, out, device="cpu", unknown="error", normalise="none")
    outcomes = list(embed_library(tasks, out, backend="ray", device="cpu", jobs=2))
    assert sorted((one.out.name, one.rows, one.error) for one in outcomes) == [
        (f"shard-0000{n}.parquet", 10, "") for n in range(3)
    ]
    whole = embed_dataset(load_model(model), open_dataset(tmp_path / "store"), CPU)
    np.testing.assert_allclose(read_embeddings(out).z, whole.z, atol=1e-6)


def dying_while_it_writes(task: ImportTask) -> ImportOutcome:
    """A worker that dies when the second shard is half written for the first time."""
    if task.shard.number == 1 and not (task.out.parent / "died").exists():
        (task.out.parent / "died").touch()
        (task.out.parent / f".{task.out.name}.{task.token}.0123abcd").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
    return import_shard(task)


def test_a_file_of_smiles_becomes_a_library_although_a_worker_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "m.smi", tmp_path / "library"
    source.write_text("\n".join([*SMILES, "C1CC", "", "CCO ethanol"]))
    import_path(source, tmp_path / "whole")
    monkeypatch.setattr("nmrgcl.run.import_library.import_shard", dying_while_it_writes)
    tasks = plan_import(source, out, 4, name=None, strict=False)
    assert sorted(import_library(tasks, out, backend="ray", jobs=2)) == [(task.out, "") for task in tasks]
    assert sorted(path.name for path in out.iterdir()) == [".lock", "died", *(f"shard-0000{n}" for n in range(4))]
    merge_stores([task.out for task in tasks], tmp_path / "merged")
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("whole", "merged")
    )
    assert one == other


def test_a_worker_with_another_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ray.nodes()[0]["NodeManagerAddress"]
    monkeypatch.setattr(ray_cluster, "__version__", "99.0")
    with pytest.raises(SettingError, match=f"the worker {here} has nmrgcl .*, but 99.0 is needed; install the same"):
        run_cells([quick()], tmp_path, backend="ray", device="cpu")


def test_a_worker_with_another_rdkit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray_cluster.require_workers(tmp_path, ("rdkit",))
    monkeypatch.setattr(ray_cluster, "version", lambda name: "0.1" if name == "rdkit" else installed(name))
    with pytest.raises(SettingError, match="has rdkit .*, but 0.1 is needed; install the same version there"):
        ray_cluster.require_workers(tmp_path / "another", ("rdkit",))


def test_tasks_share_gpus_so_that_all_of_them_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 16.0, "GPU": 2.0})
    assert ray_cluster.slots(3, "cuda", 4) == (3, 0.5)  # not 2/3, of which only one fits on a GPU
    assert ray_cluster.slots(1, "auto", 4) == (1, 1.0)
    assert ray_cluster.slots(0, "auto", 4) == (8, 0.25)
    assert ray_cluster.slots(0, "cpu", 4) == (16, 0.0)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 16.0})
    assert ray_cluster.slots(0, "auto", 4) == (16, 0.0)
    with pytest.raises(SettingError, match="has no GPU"):
        ray_cluster.slots(0, "cuda", 4)


def share_of_a_gpu(folder: Path) -> tuple[float, list[str]]:
    """The share of a GPU that this task has, and the tasks that ran at the same time."""
    (folder / str(os.getpid())).touch()
    ends = time.monotonic() + 60
    while len(list(folder.iterdir())) < 2 and time.monotonic() < ends:
        time.sleep(0.1)
    return ray.get_runtime_context().get_assigned_resources()["GPU"], sorted(path.name for path in folder.iterdir())


def test_two_tasks_share_one_gpu_at_the_same_time(tmp_path: Path) -> None:
    jobs, gpus = ray_cluster.slots(2, "cuda", 4)
    assert (jobs, gpus) == (2, 0.5)
    given = {"jobs": jobs, "gpus": gpus, "name": str, "lost": lambda item, why: (0.0, [why])}
    (first, some), (second, others) = ray_cluster.run_tasks(share_of_a_gpu, [tmp_path, tmp_path], **given)  # type: ignore[arg-type]
    assert (first, second) == (0.5, 0.5)
    assert some == others
    assert len(some) == 2


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """``nmrgcl words`` in a process of its own, as a user types it."""
    return subprocess.run([sys.executable, "-m", "nmrgcl", *words], capture_output=True, text=True, timeout=300)


def test_commands_connect_to_the_cluster_at_an_address(tmp_path: Path) -> None:
    where = ["--backend", "ray", "--address", ray.get_runtime_context().gcs_address, "--device", "cpu"]
    small = ["--set", "epochs=1", "--set", "encoder.units=4", "--set", "svm.folds=2"]
    results = ["--results", str(tmp_path / "results")]
    swept = command("sweep", "motifs", *small, "--seeds", "2", *results, *where)
    assert swept.returncode == 0, swept.stderr
    lines = swept.stderr.splitlines()
    assert [line[:8] for line in lines[:2]] == ["1 of 2, ", "2 of 2, "]  # Nothing of Ray's own comes before.
    assert sorted(line[8:].partition(":")[0] for line in lines[:2]) == [
        f"nmrgcl on motifs, seed {seed}" for seed in range(2)
    ]
    assert len(Results(tmp_path / "results").keys()) == 2
    space = tmp_path / "space.toml"
    space.write_text("options.tau = [0.1, 0.5]\n")
    chosen = ["--space", str(space), "--budget", "2", "--seeds", "1", "--out", str(tmp_path / "tuned")]
    tuned = command("tune", "motifs", *small, *chosen, *results, *where)
    assert tuned.returncode == 0, tuned.stderr
    assert (tmp_path / "tuned" / "motifs.toml").exists()
    assert len(Results(tmp_path / "results").keys()) == 3  # The preset with seed 0 was there.


def test_where_no_cluster_answers_one_line_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    began = time.monotonic()
    found = command("sweep", "motifs", "--backend", "ray", "--address", f"127.0.0.1:{port}", "--results", str(tmp_path))
    told = "no Ray cluster answers there (Connection refused); check ray status"
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == f"nmrgcl: --address 127.0.0.1:{port}: {told}\n"
    assert time.monotonic() - began < 120  # Most of it imports torch; Ray itself would try again for minutes.


def test_a_real_cluster_answers() -> None:
    ray_cluster._require_answer(ray.get_runtime_context().gcs_address)


def test_logs_name_the_cells(tmp_path: Path) -> None:
    run_cells([quick(seed=5)], tmp_path, backend="ray", device="cpu")
    logs = Path(ray._private.worker._global_node.get_logs_dir_path())
    assert any(":task_name:nmrgcl on motifs, seed 5" in path.read_text() for path in logs.glob("worker-*.out"))
