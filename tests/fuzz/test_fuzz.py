"""A share of ``make fuzz`` in every test run, with the same inputs each time."""

import pytest

from tests.fuzz.drive import Failure, drive
from tests.fuzz.target import Target
from tests.fuzz.targets import all_targets

INPUTS, PARTS = 20_000, 4
TARGETS = all_targets()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_mutated_inputs_are_refused_in_one_line_or_read_rightly(name: str, part: int) -> None:
    outcome = drive(TARGETS[name], INPUTS // PARTS, seed=part)
    assert outcome.accepted > 0
    assert outcome.refused > 0


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_examples_themselves_are_read(name: str) -> None:
    target = TARGETS[name]
    for files in target.examples:
        target.agree(files, target.read(files))


def test_a_parser_that_crashes_or_misreads_is_found_out() -> None:
    honest = TARGETS["tu"]

    def crash(files: object) -> None:
        raise ZeroDivisionError

    def misread(files: object, data: object) -> None:
        raise AssertionError("another graph")

    for broken in (Target(**vars(honest) | {"read": crash}), Target(**vars(honest) | {"agree": misread})):
        with pytest.raises(Failure, match="tu, input"):
            drive(broken, 100)
