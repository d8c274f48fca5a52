"""A dataset left on disk gives, for any of its graphs, what it gives when it is read whole."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.featured import featured_store
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.motifs import motifs
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, SettingError
from nmrgcl.run.cell_data import digest_of
from nmrgcl.run.checkpoints import Cadence, RunMemory
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings
from nmrgcl.train.checkpoint import Checkpoint, write_checkpoint
from tests.run.test_resume import files
from tests.test_store import assert_equal

CPU = torch.device("cpu")


def rich(graphs: int = 30, *, sparse: bool = False) -> Dataset:
    plain = motifs(graphs=graphs)
    random = np.random.default_rng(0)
    nodes = plain.graphs.num_nodes
    attributes = random.normal(size=(nodes, 3)).astype(np.float32)
    return replace(
        plain,
        node_labels=random.integers(-2, 3, (nodes, 2)),
        node_attributes=csr_array(attributes * (attributes > 1)) if sparse else attributes,
    )


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def stored(tmp_path: Path, request: pytest.FixtureRequest) -> Dataset:
    write_dataset(tmp_path / "store", rich(sparse=request.param))
    return open_dataset(tmp_path / "store")


@pytest.mark.parametrize("kind", ["labels", "attributes", "degree", "constant"])
def test_what_is_taken_is_what_the_whole_has(
    stored: Dataset, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = choose_features(stored, kind)
    source = featured_store(stored, spec)
    assert source is not None
    whole = apply_features(open_dataset(tmp_path / "store"), spec)
    assert (len(source), source.num_features) == (30, whole.num_features)
    for index in ([], [4], [29, 3, 3, 0], range(30)):
        assert_equal(
            source.take(torch.tensor(index, dtype=torch.long)), whole.take(torch.tensor(index, dtype=torch.long))
        )
    for at_a_time in (7, 100):
        monkeypatch.setattr("nmrgcl.run.cell_data.AT_A_TIME", at_a_time)
        assert digest_of(source) == digest_of(whole)
    assert "graphs" not in vars(stored)  # nobody has read all of them


def test_a_dataset_in_memory_or_damaged_on_disk_is_none(tmp_path: Path) -> None:
    spec = choose_features(rich(), "labels")
    assert featured_store(rich(), spec) is None
    write_dataset(tmp_path / "store", rich())
    path = tmp_path / "store" / "source.bin"
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    assert featured_store(open_dataset(tmp_path / "store"), spec) is None
    settings = Settings().updated({"chunk_graphs": 8, "batch_size": 4})
    with pytest.raises(DataError, match=r"source\.bin: its SHA-256 does not match the manifest; the store is damaged"):
        next(pretrain_seeds(open_dataset(tmp_path / "store"), settings, seeds=[0], out=tmp_path / "run", device=CPU))


SETTINGS = Settings().updated({"epochs": 2, "batch_size": 4, "layers": 1, "encoder.units": 4, "chunk_graphs": 12})


def train(dataset: Dataset, out: Path, **options: str) -> dict[str, bytes]:
    for _ in pretrain_seeds(dataset, SETTINGS, seeds=[0], out=out, device=CPU, **options):  # type: ignore[arg-type]
        pass
    return files(out)


def test_a_run_on_a_dataset_that_stays_on_disk_is_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dataset(tmp_path / "store", rich())
    in_memory = train(rich(), tmp_path / "memory")
    dataset = open_dataset(tmp_path / "store")
    assert train(dataset, tmp_path / "disk") == in_memory
    assert "graphs" not in vars(dataset)
    # One goes on where the other stopped: it is the same data.
    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.run.checkpoints.RunMemory.keep", stop_after_keeping)
        with pytest.raises(SettingError, match="enough"):
            for _ in pretrain_seeds(
                dataset, SETTINGS, seeds=[0], out=tmp_path / "both", device=CPU, cadence=Cadence(steps=5)
            ):
                pass
    assert train(rich(), tmp_path / "both", resume="yes") == in_memory


def stop_after_keeping(self: RunMemory, step: int, checkpoint: Checkpoint) -> None:
    values = checkpoint.values | {"metrics": self.metrics, "timings": self.timings}
    write_checkpoint(self.folder, step, replace(checkpoint, values=values))
    raise SettingError("enough")
