"""Whatever lies around, a command changes nothing that is not its own; it does its work or refuses in one line."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.commands import COMMANDS
from tests.faults.foreign import try_one

QUICK = [name for name, command in COMMANDS.items() if not command.slow]
MANY = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", QUICK)
@MANY
@given(chance=st.randoms(use_true_random=False))
def test_no_command_changes_foreign_files(name: str, chance: random.Random) -> None:
    try_one(COMMANDS[name], chance)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - set(QUICK)))
def test_no_slow_command_changes_foreign_files(name: str) -> None:
    for number in range(3):
        try_one(COMMANDS[name], random.Random(number))
