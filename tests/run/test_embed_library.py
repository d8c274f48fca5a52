"""Folders of stores become folders of Parquet files: the same rows as from one store, and resumable."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from nmrgcl.data.library import stores_of
from nmrgcl.data.motifs import motifs
from nmrgcl.data.read import import_path
from nmrgcl.data.shards import shard_store
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.run.embed_library import ShardTask, embed_library, embed_shard, missing_tasks, plan_library
from nmrgcl.run.embeddings import embed_dataset, read_embeddings
from tests.test_cli import run
from tests.tiny_molecules import SMILES, save_model, save_other_model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of molecules and one of other graphs, and a library for each; one label is missing."""
    folder = tmp_path_factory.mktemp("made")
    save_model(folder / "model")
    save_other_model(folder / "other")
    rows = [f"{text},{n % 2 if n < 8 else 0}" for n, text in enumerate(SMILES)]
    (folder / "m.csv").write_text("\n".join(["smiles,active", *rows, "CCCl,"]) + "\n")
    import_path(folder / "m.csv", folder / "molecules")
    shard_store(folder / "molecules", folder / "library", 3)
    write_dataset(folder / "motifs", motifs(30))
    shard_store(folder / "motifs", folder / "graphs", 4)
    return folder


def tasks_of(made: Path, out: Path, model: str = "model", library: str = "library") -> list[ShardTask]:
    found = stores_of(made / library)
    return plan_library(made / model, found, out, device="cpu", unknown="error", normalise="none")


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_molecules_are_those_of_one_store_in_its_order(made: Path, tmp_path: Path, backend: str) -> None:
    outcomes = list(embed_library(tasks_of(made, tmp_path), tmp_path, backend=backend, device="cpu", jobs=2))
    assert sorted((one.out.name, one.rows, one.error) for one in outcomes) == [
        ("shard-00000.parquet", 8, ""), ("shard-00001.parquet", 8, ""), ("shard-00002.parquet", 9, "")
    ]  # fmt: skip
    found = read_embeddings(tmp_path, molecules=True)
    model, dataset = load_model(made / "model"), open_dataset(made / "molecules")
    whole = embed_dataset(model, dataset, torch.device("cpu"))
    np.testing.assert_allclose(found.z, whole.z, atol=1e-6)
    assert found.smiles is not None
    assert found.smiles.tolist() == [*SMILES, "CCCl"]
    assert found.id.tolist() == list(range(2, len(SMILES) + 3))  # lines of the file
    assert found.y is not None
    assert found.y.tolist()[:9] == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert np.isnan(found.y).tolist() == [False] * 24 + [True]


def test_other_graphs_are_those_of_one_store_in_its_order(made: Path, tmp_path: Path) -> None:
    tasks = tasks_of(made, tmp_path, "other", "graphs")
    outcomes = list(embed_library(tasks[::-1], tmp_path, backend="inline", device="cpu"))
    assert [one.error for one in outcomes] == [""] * 4
    found, dataset = read_embeddings(tmp_path), open_dataset(made / "motifs")
    whole = embed_dataset(load_model(made / "other"), dataset, torch.device("cpu"))
    np.testing.assert_allclose(found.z, whole.z, atol=1e-6)
    assert found.id.tolist() == whole.id.tolist()
    assert found.y is not None
    assert whole.y is not None
    assert found.y.tolist() == whole.y.tolist()


def test_what_is_there_is_not_computed_again(made: Path, tmp_path: Path) -> None:
    tasks = tasks_of(made, tmp_path)
    list(embed_library(tasks[:2], tmp_path, backend="inline", device="cpu"))
    (tmp_path / f".shard-00002.parquet.{tasks[2].token}.0123abcd").touch()  # of a worker that was killed
    left = missing_tasks(tasks)
    assert [task.store.name for task in left] == ["shard-00002"]
    os.link(tmp_path / "shard-00000.parquet", tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="rows are missing or repeated"):
        read_embeddings(tmp_path)
    (tmp_path / "twice.parquet").unlink()
    list(embed_library(left, tmp_path, backend="inline", device="cpu"))
    assert missing_tasks(tasks) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", *(f"shard-0000{n}.parquet" for n in range(3))]
    other = plan_library(
        made / "model", stores_of(made / "library"), tmp_path, device="cpu", unknown="error", normalise="l2"
    )
    with pytest.raises(SettingError, match="does not contain the embeddings of shard-00000 by this model"):
        missing_tasks(other)


def test_a_failing_store_leaves_the_others(made: Path, tmp_path: Path) -> None:
    first = tasks_of(made, tmp_path)[0]
    damaged = ShardTask(**{**asdict(first), "store": tmp_path / "nothing"})
    outcome = embed_shard(damaged)
    assert outcome.rows == 0
    assert "is missing or unreadable" in outcome.error
    mixed = ShardTask(**{**asdict(first), "model": made / "other"})
    assert "these graphs are molecules" in embed_shard(mixed).error
    assert not list(tmp_path.glob("*.parquet"))


def test_the_command_continues_and_refuses(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, library, out = str(made / "model"), str(made / "library"), str(tmp_path / "z")
    given = ["embed", model, library, "--out", out, "--backend", "inline", "--device", "cpu"]
    assert run(capsys, *given)[0] == f"3 of 3 stores embedded, in {out}\n"
    (tmp_path / "z" / "shard-00001.parquet").unlink()
    assert run(capsys, *given)[0] == f"1 of 3 stores embedded, 2 were there, in {out}\n"
    assert read_embeddings(str(tmp_path / "z")).z.shape == (25, 8)
    for changed, told in (
        (["--out", f"{out}.npz"], "is a folder of stores; name a folder for their embeddings"),
        (["--backend", "slurm"], "--backend slurm: known: processes, ray, inline"),
        (["--address", "10.0.0.1:6379"], "--address: is for --backend ray"),
        (["--smiles", "s"], "are for files of molecules"),
    ):
        assert told in run(capsys, *given, *changed, code=2)[1]
    for option, value in (("--backend", "ray"), ("--address", "10.0.0.1:6379"), ("--jobs", "2")):
        told = run(capsys, "embed", model, str(made / "molecules"), option, value, code=2)[1]
        assert f"{option}: is for a folder of stores; make one with nmrgcl store shard" in told
