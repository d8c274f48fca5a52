"""The generated pages of the reference name everything that the code has; ``make docs`` renders them."""

import json

import pytest
from docs.write_reference import pages, table, text, value

import nmrgcl
from nmrgcl.augment import VIEWS
from nmrgcl.data.catalog import CATALOG
from nmrgcl.encode import ENCODERS
from nmrgcl.methods import find_method, method_names
from nmrgcl.settings import preset_names, shared_settings
from tests.flags import FILE


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return pages()


def test_every_public_name_is_described_once(reference: dict[str, str]) -> None:
    api = "".join(page for name, page in reference.items() if name.startswith("api-"))
    described = [line.rpartition("nmrgcl.")[2] for line in api.splitlines() if line.startswith(".. auto")]
    assert sorted(described) == sorted(nmrgcl.__all__)
    assert all(f"`~nmrgcl.{name}` |  |" not in reference["api"] for name in nmrgcl.__all__)  # none without a docstring


def test_every_setting_preset_method_view_encoder_and_dataset_is_listed(reference: dict[str, str]) -> None:
    for page, names in {
        "settings": [f"| `{one.key}` | {text(one.meaning)} |" for one in shared_settings()],
        "presets": [f"\n## {name}\n" for name in preset_names()],
        "methods": [f"\n### {name}\n" for name in method_names()],
        "views": [f"| {{py:obj}}`~nmrgcl.{name}` |" for name in VIEWS],
        "encoders": [f"| `{name}` |" for name in ENCODERS],
        "datasets": [f"| `{entry.name}` |" for entry in CATALOG],
    }.items():
        assert [name for name in names if name not in reference[page]] == [], page


def test_methods_come_with_their_papers(reference: dict[str, str]) -> None:
    abouts = [find_method(name).ABOUT for name in method_names()]
    assert [about.paper for about in abouts if about and text(about.paper) not in reference["methods"]] == []


def test_every_command_shows_all_its_options(reference: dict[str, str]) -> None:
    sections = {
        part.partition("\n")[0]: part for part in reference["commands"].replace("\n### ", "\n## ").split("\n## ")
    }
    for command, flags in json.loads(FILE.read_text()).items():
        section = sections[f"nmrgcl {command}"]
        assert [flag for flag in flags if flag.startswith("--") and flag not in section and flag != "--help"] == []


def test_text_and_values_survive_markdown() -> None:
    assert text("use --set a_b=[1] <x>") == r"use `--set` a\_b=\[1\] \<x>"
    assert value([{"name": "DropNodes", "p": 0.2}]) == '`{name = "DropNodes", p = 0.2}`'
    assert table(("a",), [("x|y",)]) == "| a |\n| --- |\n| x\\|y |"
