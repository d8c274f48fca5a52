"""Every method of the package says where it comes from and what was checked."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from nmrgcl.methods import About, find_method, method_names

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", method_names())
def test_a_method_says_where_it_comes_from(name: str) -> None:
    about = vars(find_method(name)).get("ABOUT")  # one that is inherited would tell of another method
    assert isinstance(about, About)
    assert all(getattr(about, field.name).strip() for field in fields(About))
    named = re.findall(r"tests/[\w/]+\.py", about.checked)
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []
