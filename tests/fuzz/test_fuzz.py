"""Mutated inputs for every parser, the same in each run; ``make fuzz`` is this with a million each."""

import os
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.drive import drive
from tests.fuzz.targets import all_targets

INPUTS, PARTS = int(os.environ.get("FUZZ_INPUTS", "20000")), 4
TARGETS = all_targets()
TWICE = ("store", "store_lax")
"""One reader, whose inputs are shared between stores as they are and stores with their checksums made right."""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_mutated_inputs_are_refused_in_one_line_or_read_rightly(name: str, part: int) -> None:
    inputs = INPUTS // PARTS // (2 if name in TWICE else 1)
    assert 0 < drive(TARGETS[name], inputs, seed=part) < inputs


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_examples_themselves_are_read(name: str) -> None:
    target = TARGETS[name]
    for files in target.examples:
        target.agree(files, target.read(files))


def _fail(*_: object) -> Any:
    raise ZeroDivisionError


@pytest.mark.parametrize("broken", ["read", "agree"])
def test_a_parser_that_crashes_or_misreads_is_found_out(broken: str) -> None:
    changes: dict[str, Any] = {broken: _fail}
    with pytest.raises(AssertionError, match="tu, input"):
        drive(replace(TARGETS["tu"], **changes), 100)
