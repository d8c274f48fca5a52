"""Models travel to a Hub and back; a folder plays the Hub, once as a path and once behind the Hub's own library."""

import inspect
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nmrgcl import GraphEmbedder
from nmrgcl.checksums import write_checksums
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.hub import TRAVELS, evaluated, fetch_model, push_model
from nmrgcl.model_folder import folder_digest
from nmrgcl.run.evaluation import EVALUATION, FORMATS

SMALL = {"train.epochs": 1, "encoder.layers": 1, "encoder.units": 4}


@pytest.fixture(scope="module")
def embedder() -> GraphEmbedder:
    return GraphEmbedder("graphcl", settings=SMALL, device="cpu").fit("MUTAG")


class FolderHub:
    """Repositories as folders; a snapshot is links to files, as in the real library's cache."""

    def __init__(self, root: Path, library: Any) -> None:
        self.root, self.library = root, library

    def create_repo(self, *given: Any, **options: Any) -> None:
        inspect.signature(self.library.HfApi.create_repo).bind(None, *given, **options)
        (self.root / given[0]).mkdir(parents=True, exist_ok=options["exist_ok"])

    def upload_folder(self, **options: Any) -> SimpleNamespace:
        inspect.signature(self.library.HfApi.upload_folder).bind(None, **options)
        place = self.root / options["repo_id"]
        for old in place.iterdir():
            if old.name in options["delete_patterns"]:
                old.unlink()
        shutil.copytree(options["folder_path"], place, dirs_exist_ok=True)
        return SimpleNamespace(repo_url=f"hub://{options['repo_id']}")

    def snapshot_download(self, name: str, **options: Any) -> str:
        inspect.signature(self.library.snapshot_download).bind(name, **options)
        snapshot = self.root / "snapshots" / name
        snapshot.mkdir(parents=True, exist_ok=True)
        for file in (self.root / name).iterdir():
            if file.name in options["allow_patterns"]:
                (snapshot / file.name).symlink_to(file)
        return str(snapshot)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderHub:
    library = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (extra hub)")
    played = FolderHub(tmp_path / "hub", library)
    known = SimpleNamespace(HfApi=lambda token: played, snapshot_download=played.snapshot_download)
    monkeypatch.setattr("nmrgcl.hub._library", lambda: known)
    return played


def test_a_model_is_pushed_to_the_hub_and_loaded_from_it(embedder: GraphEmbedder, hub: FolderHub) -> None:
    (hub.root / "me/mutag").mkdir(parents=True)
    (hub.root / "me/mutag/metrics.jsonl").write_text("of an earlier model\n")
    (hub.root / "me/mutag/train.py").write_text("raise SystemExit\n")
    assert embedder.push_to_hub("me/mutag", metrics={"Accuracy in %": 87.5}) == "hub://me/mutag"
    assert not (hub.root / "me/mutag/metrics.jsonl").exists()
    loaded = GraphEmbedder.from_pretrained("me/mutag", device="cpu")
    np.testing.assert_array_equal(loaded.transform("MUTAG"), embedder.transform("MUTAG"))
    assert not (hub.root / "snapshots/me/mutag/train.py").exists()


def test_a_folder_is_pushed_to_and_loaded_from_in_the_same_way(
    embedder: GraphEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert embedder.push_to_hub("./shelf/mutag") == "shelf/mutag"
    assert sorted(path.name for path in (tmp_path / "shelf/mutag").iterdir()) == sorted({*TRAVELS} - {"metrics.jsonl"})
    for name in ("shelf/mutag", "./shelf/mutag", tmp_path / "shelf/mutag"):
        loaded = GraphEmbedder.from_pretrained(name, device="cpu", normalise="none")
        assert loaded.normalise == "none"
        assert loaded.transform("MUTAG").shape == (188, 4)
    embedder.push_to_hub("./shelf/mutag")  # a model of ours is replaced
    (tmp_path / "shelf/mutag/notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="notes.txt"):
        embedder.push_to_hub("./shelf/mutag")


def test_the_card_has_data_metrics_and_limits(embedder: GraphEmbedder, tmp_path: Path) -> None:
    embedder.push_to_hub(tmp_path / "model", metrics={"Accuracy in % | <b>": 87.5})
    card = (tmp_path / "model/README.md").read_text()
    head = card.split("---\n")[1]
    index = json.loads(next(line for line in head.splitlines() if line.startswith("model-index: "))[13:])
    assert index[0]["results"][0]["metrics"][0]["value"] == 87.5
    assert "| Dataset | MUTAG |" in card
    assert "| Accuracy in % \\| &lt;b> | 87.5 |" in card
    assert "Labels of nodes that the training graphs did not have are refused" in card
    embedder.push_to_hub(tmp_path / "model")
    assert "Not judged by any labels yet." in (tmp_path / "model/README.md").read_text()


def test_the_card_tells_what_evaluate_found_of_this_model_only(embedder: GraphEmbedder, tmp_path: Path) -> None:
    embedder.save(tmp_path / "run/seed-0")
    found = {"dataset": "MUTAG", "protocol": "svm", "split": "stratified", "mean": 88.25, "untrained": {"mean": 85.5}}
    found["models_sha256"] = [folder_digest(tmp_path / "run/seed-0"), "another"]
    FORMATS[EVALUATION].write(tmp_path / "run" / EVALUATION, found)
    told = {"Accuracy in % on MUTAG (svm, split stratified, mean of 2 models)": 88.25, "The same, untrained": 85.5}
    assert evaluated(tmp_path / "run/seed-0") == told
    push_model(tmp_path / "run/seed-0", tmp_path / "out")
    assert "| 88.25 |" in (tmp_path / "out/README.md").read_text()
    assert not (tmp_path / "out" / EVALUATION).exists()
    found["models_sha256"] = ["another"]
    FORMATS[EVALUATION].write(tmp_path / "run" / EVALUATION, found)
    assert evaluated(tmp_path / "run/seed-0") == {}


def test_a_damaged_model_is_neither_pushed_nor_loaded(embedder: GraphEmbedder, hub: FolderHub, tmp_path: Path) -> None:
    embedder.save(tmp_path / "model")
    (tmp_path / "model/model.safetensors").write_bytes(b"cut")
    with pytest.raises(ModelError, match="damaged"):
        push_model(tmp_path / "model", "me/mutag")
    assert not (hub.root / "me").exists()
    embedder.push_to_hub("me/mutag")
    (hub.root / "me/mutag/config.json").write_text("{}")
    with pytest.raises(ModelError, match="damaged"):
        GraphEmbedder.from_pretrained("me/mutag")
    write_checksums(hub.root / "me/mutag")
    shutil.rmtree(hub.root / "snapshots")
    with pytest.raises(ModelError, match="not a usable model folder"):
        GraphEmbedder.from_pretrained("me/mutag")


@pytest.mark.parametrize("name", ["runs/mutag/seed-0", "../x", "me/mu tag", "", "/nowhere/at/all", "./nowhere"])
def test_names_of_nothing_are_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ModelError, SettingError)) as told:
        GraphEmbedder.from_pretrained(name)
    assert "\n" not in str(told.value)


def test_without_a_connection_the_hub_says_so_in_one_line(
    embedder: GraphEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (extra hub)")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(library.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="me/nothing: no such folder here, and not found on the Hub") as told:
        fetch_model("me/nothing")
    assert "\n" not in str(told.value)
    with pytest.raises(ModelError, match="me/mutag: was not pushed"):
        embedder.push_to_hub("me/mutag", token="hf_x")


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(SettingError, match=r"pip install 'nmrgcl\[hub\]'"):
        fetch_model("me/mutag")
