"""A folder is ours only if it holds our marker, and in it only what the marker stands for."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.errors import SettingError
from nmrgcl.estimator import GraphEmbedder
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import (
    FolderKind,
    read_marker,
    remove,
    require_format,
    require_group,
    require_named,
    require_replaceable,
)
from nmrgcl.run.folder import RUN
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from nmrgcl.store import STORE, write_store

FOREIGN: list[Any] = [
    {},
    [],
    "nmrgcl-run",
    {"name": "My web app", "icons": []},
    {"format": "nmrgcl"},
    {"format": ["nmrgcl-run"]},
    {"format": 1},
    {"format": 1, "nmrgcl": 1, "settings": {}, "features": {}},
    {"architectures": ["BertModel"], "model_type": "bert"},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a model, a model that was saved, and a store."""
    out = tmp_path_factory.mktemp("made")
    data = load("motifs")
    settings = resolve("graphcl", assignments=["epochs=1", "layers=1", "encoder.units=4"])
    list(pretrain_seeds(data, settings, seeds=[0], out=out / "run", device=torch.device("cpu")))
    GraphEmbedder.load(out / "run" / "seed-0").save(out / "model")
    write_store(out / "store", data.graphs)
    return out


def test_what_we_write_is_ours(made: Path) -> None:
    assert read_marker(made / "run", RUN)
    for name, kind in (("run/seed-0", MODEL), ("model", MODEL), ("store", STORE)):
        assert read_marker(made / name, kind)
        require_replaceable(made / name, kind)
    assert read_marker(made / "store", MODEL) is None


@pytest.mark.parametrize("values", FOREIGN, ids=json.dumps)
@pytest.mark.parametrize("kind", [RUN, MODEL, STORE], ids=["run", "model", "store"])
def test_another_s_file_of_the_same_name_makes_nothing_ours(tmp_path: Path, kind: FolderKind, values: Any) -> None:
    (tmp_path / kind.marker).write_text(json.dumps(values))
    assert read_marker(tmp_path, kind) is None
    with pytest.raises(SettingError, match=f"is not empty and contains no {kind.what}"):
        require_replaceable(tmp_path, kind)


@pytest.mark.parametrize("text", ["", "{", '{"format": "nmrgcl-store"', "[" * 100_000, "\x00", "\udcff"])
def test_a_marker_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_marker(tmp_path, STORE) is None


def test_a_link_to_a_marker_is_none(made: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").symlink_to(made / "store" / "manifest.json")
    assert read_marker(tmp_path, STORE) is None


@pytest.mark.parametrize("name", [".git", ".DS_Store", "notes.txt", "x.bin.orig", "extra.more.bin"])
def test_anything_unknown_in_a_store_is_named_and_stays(tmp_path: Path, name: str) -> None:
    graphs = load("motifs").graphs
    write_store(tmp_path / "store", graphs)
    (tmp_path / "store" / name).write_text("mine")
    with pytest.raises(SettingError, match=f"'{name}' is not part of the store; move it away or choose another place"):
        write_store(tmp_path / "store", graphs)
    remove(tmp_path / "store", STORE)
    assert [p.name for p in (tmp_path / "store").iterdir()] == [name]


def test_a_file_is_replaced_only_if_it_says_that_it_is_ours(made: Path, tmp_path: Path) -> None:
    path, beside = tmp_path / "MUTAG.json", tmp_path / "MUTAG.toml"
    require_format(path, "nmrgcl-tuned")
    beside.write_text("mine")
    with pytest.raises(SettingError, match=r"MUTAG.toml: was not written by nmrgcl; move it away"):
        require_group(path, "nmrgcl-tuned", [beside])
    path.write_text('{"format": "another"}')
    with pytest.raises(SettingError, match=r"MUTAG.json: was not written by nmrgcl"):
        require_group(path, "nmrgcl-tuned", [beside])
    path.write_text('{"format": "nmrgcl-tuned"}')
    require_group(path, "nmrgcl-tuned", [beside])


def test_a_name_of_ours_is_ours_only_in_a_folder_of_ours(made: Path, tmp_path: Path) -> None:
    for folder, ours in ((made / "run", True), (made / "run" / "seed-0", True), (tmp_path, False)):
        page = folder / "report.html"
        require_named(page, RUN, MODEL)
        page.write_text("<html>")
        if ours:
            require_named(page, RUN, MODEL)
        else:
            with pytest.raises(SettingError, match=r"report.html: was not written by nmrgcl"):
                require_named(page, RUN, MODEL)
        page.unlink()
