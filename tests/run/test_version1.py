"""Files with the setting names of version 1; ``version1.json`` has their original form and must not be updated."""

import json
from pathlib import Path

import pytest

from nmrgcl import GraphEmbedder
from nmrgcl.checksums import write_checksums
from nmrgcl.errors import SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.settings import Settings, read_config

OLD = json.loads((Path(__file__).parent / "version1.json").read_text())


def test_a_model_and_a_config_of_version_1_are_read(tmp_path: Path) -> None:
    changed = {"epochs": 1, "encoder.layers": 2, "encoder.units": 4, "tau": 0.3, "head_units": 5, "finetune.lr": 0.5}
    folder = tmp_path / "model"
    GraphEmbedder(settings=changed, device="cpu").fit("motifs").save(folder)
    new = load_model(folder).settings
    config = json.loads((folder / "config.json").read_text()) | {"format": 1, "settings": OLD}
    (folder / "config.json").write_text(json.dumps(config))
    write_checksums(folder)
    assert load_model(folder).settings == new
    assert Settings.from_dict(read_config(folder / "config.json")) == new
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(OLD))
    assert Settings.from_dict(read_config(settings)) == new


def test_an_old_name_is_shown_with_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("removal.delta = 0.5\n")
    with pytest.raises(SettingError, match=r"mine\.toml: removal\.delta is now called delta"):
        Settings().updated(read_config(path), source=str(path))
