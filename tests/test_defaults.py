"""A changed default changes what stored cells mean: it must raise the format number of its settings or method."""

import json

from tests.defaults import FILE, changed, defaults

FROZEN = json.loads(FILE.read_text(encoding="utf-8"))
MEANT = "if this is meant: python -m tests.defaults"


def test_defaults_are_those_of_their_format() -> None:
    assert changed(FROZEN, defaults()) == [], "raise FORMAT of the settings or the method, or undo the change"


def test_settings_and_options_come_and_go_only_on_purpose() -> None:
    assert defaults() == FROZEN, MEANT


def test_a_changed_default_or_a_lost_key_needs_another_format() -> None:
    before = {"train": {"format": 1, "defaults": {"lr": 0.1, "epochs": 20}}}
    assert changed(before, {"train": {"format": 1, "defaults": {"lr": 0.2, "epochs": 20}}}) == ["train: lr"]
    assert changed(before, {"train": {"format": 1, "defaults": {"lr": 0.1}}}) == ["train: epochs"]
    assert changed(before, {"train": {"format": 1, "defaults": {"lr": 0.1, "epochs": 20, "new": 0}}}) == []
    assert changed(before, {"train": {"format": 2, "defaults": {"lr": 0.2}}}) == []
