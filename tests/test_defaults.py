"""A changed default changes what stored cells mean: it must raise the format number of its settings or method."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nmrgcl.method_files import options_class
from nmrgcl.methods import find_method, method_names
from nmrgcl.run.cell import formats_of
from nmrgcl.settings import Settings

FROZEN: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "defaults.json").read_text())
"""Format number and defaults of every group of settings and of every method's options, when they were last raised."""
SETTINGS = Settings()


def current(name: str) -> tuple[int, dict[str, Any]]:
    if name.startswith("method "):
        method = name.removeprefix("method ")
        return find_method(method).FORMAT, json.loads(json.dumps(asdict(options_class(method)())))
    return formats_of(SETTINGS)[name], SETTINGS.to_dict()[name]


@pytest.mark.parametrize("name", FROZEN)
def test_defaults_are_those_of_their_format(name: str) -> None:
    """New settings may come; after raising a format number, write the new defaults into ``defaults.json``."""
    number, values = current(name)
    assert number == FROZEN[name]["format"]
    for key, value in FROZEN[name]["defaults"].items():
        assert values[key] == value, f"{name}: the default of {key} has changed; raise FORMAT"


def test_every_group_and_method_is_frozen() -> None:
    groups = {key for key, value in SETTINGS.to_dict().items() if isinstance(value, dict) and key != "options"}
    assert set(FROZEN) == groups | {f"method {name}" for name in method_names()}
    for name in FROZEN:
        assert set(current(name)[1]) == set(FROZEN[name]["defaults"]), f"write the new settings of {name} down"
