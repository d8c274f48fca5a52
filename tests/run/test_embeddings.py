"""Files of embeddings: written files are read back in order, and files by other programs are accepted or refused."""

import csv
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmrgcl.data.loading import load
from nmrgcl.data.motifs import motifs
from nmrgcl.errors import DataError, ModelError, SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.run import embedding_tables
from nmrgcl.run.embeddings import Embeddings, embed_dataset, read_embeddings, write_embeddings
from nmrgcl.run.evaluate import evaluate_embeddings
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from tests.test_cli import run, write_tu

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "motifs"
    settings = resolve("graphcl", assignments=["epochs=1", "encoder.units=4"])
    list(pretrain_seeds(load("motifs"), settings, seeds=[0], out=out, device=CPU))
    return out / "seed-0"


def test_embeddings_keep_order_and_original_labels(model: Path) -> None:
    data = load("motifs")
    found = embed_dataset(load_model(model), data, CPU)
    assert found.z.shape == (300, 12)
    assert found.y is not None
    assert data.graphs.y is not None
    assert found.y.tolist() == [data.classes[code] for code in data.graphs.y.tolist()]
    assert found.id.tolist() == list(range(300))


def test_the_memory_of_a_parquet_file_is_limited_by_what_its_type_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, z = tmp_path / "z.parquet", np.array([[0.5, -1.25], [3.0, 1 / 3]])
    monkeypatch.setattr(embedding_tables, "MAX_BYTES", 4 * z.size)
    write_embeddings(Embeddings(z.astype(np.float32), None, np.arange(2)), path)
    assert read_embeddings(path).z.dtype == np.float32
    write_embeddings(Embeddings(z, None, np.arange(2)), path)
    with pytest.raises(DataError, match="exceeds the limit"):
        read_embeddings(path)
    monkeypatch.setattr(embedding_tables, "MAX_BYTES", 8 * z.size)
    np.testing.assert_array_equal(read_embeddings(path).z, z)


def test_npz_and_csv_hold_the_same(tmp_path: Path) -> None:
    made = Embeddings(np.array([[0.5, -1.25], [3.0, 1e-9]], np.float32), np.array([4, -1]), np.arange(2))
    write_embeddings(made, tmp_path / "z.npz")
    back = read_embeddings(tmp_path / "z.npz")
    np.testing.assert_array_equal(back.z, made.z)
    np.testing.assert_array_equal(back.y, made.y)
    write_embeddings(made, tmp_path / "z.csv")
    rows = list(csv.DictReader((tmp_path / "z.csv").read_text().splitlines()))
    assert [row["y"] for row in rows] == ["4", "-1"]
    assert np.float32(rows[1]["z1"]) == np.float32(1e-9)
    write_embeddings(made, tmp_path / "z.parquet")
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(tmp_path / "z.parquet").to_pydict()
    assert table["y"] == [4, -1]
    assert table["z0"] == [0.5, 3.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["z.csv", "z.npz", "z.parquet"]


LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


@settings(deadline=None, max_examples=60)
@given(labels=st.lists(LABELS, min_size=1, max_size=5))
@example(labels=["a,b", 'c"d', "e\nf", "g\rh", "", " ", "\r"])
def test_csv_columns_and_rows_stay_apart_whatever_the_labels_are(labels: list[str]) -> None:
    made = Embeddings(np.arange(2.0 * len(labels)).reshape(-1, 2), np.array(labels, object), np.arange(len(labels)))
    with tempfile.TemporaryDirectory() as folder:
        write_embeddings(made, Path(folder) / "z.csv")
        with open(f"{folder}/z.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    assert rows == [
        ["id", "y", "z0", "z1"],
        *([str(i), y, f"{2.0 * i}", f"{2.0 * i + 1}"] for i, y in enumerate(labels)),
    ]


def test_a_csv_of_numbers_is_what_it_always_was(tmp_path: Path) -> None:
    write_embeddings(Embeddings(np.array([[0.5, 1e-9]]), np.array([np.nan]), np.arange(1)), tmp_path / "z.csv")
    assert (tmp_path / "z.csv").read_bytes() == b"id,y,z0,z1\n0,nan,0.5,1e-09\n"


@pytest.mark.parametrize("split", [None, "random-10-10-80"])
@pytest.mark.parametrize("value", [1e200, -1e308, np.inf, np.nan])
def test_numbers_whose_squares_overflow_are_refused_in_one_line(value: float, split: str | None) -> None:
    z = np.random.default_rng(0).normal(size=(60, 3))
    z[7, 1] = value
    with pytest.raises(DataError, match=r"1 of 60 embeddings contain NaN, infinity or numbers beyond 1e150"):
        evaluate_embeddings(Embeddings(z, np.arange(60) % 2, np.arange(60)), "z", fold_seeds=1, jobs=1, split=split)


def test_embeddings_of_a_training_that_diverged_are_refused_with_the_remedy(tmp_path: Path) -> None:
    diverging = resolve("strong", assignments=["epochs=5", "lr=1e10"])
    with pytest.raises(ModelError, match=r"training has diverged; train again with a lower train\.lr"):
        list(pretrain_seeds(motifs(), diverging, seeds=[0], out=tmp_path / "r", device=torch.device("cpu")))


def test_an_unknown_ending_and_an_unwritable_place_are_refused(tmp_path: Path) -> None:
    made = Embeddings(np.ones((2, 2)), None, np.arange(2))
    with pytest.raises(SettingError, match=".npz, .csv, .parquet"):
        write_embeddings(made, tmp_path / "z.xlsx")
    with pytest.raises(SettingError, match="cannot be written"):
        write_embeddings(made, tmp_path / "none" / "z.npz")


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_object_arrays_are_refused_and_never_unpickled(tmp_path: Path) -> None:
    trap = np.array([Payload(tmp_path / "executed")], dtype=object)
    np.savez(tmp_path / "trap.npz", z=trap, y=np.zeros(1))
    (tmp_path / "raw.npz").write_bytes(pickle.dumps(Payload(tmp_path / "executed")))
    for name in ("trap.npz", "raw.npz"):
        with pytest.raises(DataError, match=name) as caught:
            read_embeddings(tmp_path / name)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "arrays",
    [{"y": np.zeros(3)}, {"z": np.zeros(3)}, {"z": np.array([["a"]])}, {"z": np.zeros((3, 2)), "y": np.zeros(2, int)}],
)
def test_an_npz_without_embeddings_says_what_is_missing(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="other.npz"):
        read_embeddings(tmp_path / "other.npz")


def test_damaged_files_are_one_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "whole.npz", z=np.random.default_rng(0).normal(size=(50, 4)), y=np.arange(50) % 2)
    whole = (tmp_path / "whole.npz").read_bytes()
    for cut in range(0, len(whole), 97):
        (tmp_path / "cut.npz").write_bytes(whole[:cut])
        with pytest.raises(DataError) as caught:
            read_embeddings(tmp_path / "cut.npz")
        assert "\n" not in str(caught.value)


def test_embed_and_evaluate_from_the_command_line(
    model: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "z.npz")
    text, _ = run(capsys, "embed", str(model), "motifs", "--out", out, "--json")
    assert json.loads(text) == {"out": out, "graphs": 300, "dimensions": 12, "labelled": True, "normalise": "none"}
    text, _ = run(capsys, "evaluate", out, "--seeds", "2", "--jobs", "1", "--json")
    from_file = json.loads(text)
    text, _ = run(
        capsys, "evaluate", str(model), "motifs", "--seeds", "2", "--jobs", "1", "--set", "standardise=true", "--json"
    )
    assert from_file["folds"] == json.loads(text)["folds"]
    assert from_file["untrained"] is None
    text, _ = run(capsys, "evaluate", out, "--seeds", "2", "--jobs", "1")
    assert f"{from_file['mean']:.2f}" in text


def test_labels_never_seen_are_refused_or_zero(model: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = str(write_tu(tmp_path / "NEW", node_labels="0\n9\n1\n" * 30))
    out = str(tmp_path / "z.npz")
    _, err = run(capsys, "embed", str(model), folder, "--out", out, code=2)
    assert "label 9" in err
    assert "unknown=zero" in err
    assert not Path(out).exists()
    run(capsys, "embed", str(model), folder, "--unknown", "zero", "--out", out)
    assert np.isfinite(read_embeddings(Path(out)).z).all()
