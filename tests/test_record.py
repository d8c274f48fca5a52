"""A record is read as it was written, or refused by name: something else, another version, or changed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nmrgcl.errors import ModelError
from nmrgcl.record import RecordError, RecordFormat

SEALED = RecordFormat("nmrgcl-thing", 3, "a thing", oldest=2, limit=2000)
OPEN = RecordFormat("nmrgcl-thing", 3, "a thing", sealed=False)
VALUES = {"name": "Größe", "sizes": [1, 2.5, None], "more": {"a": True}}


def refused(format_: RecordFormat, text: str | bytes) -> tuple[str, str]:
    with pytest.raises(RecordError) as caught:
        format_.parse(text)
    return caught.value.problem, str(caught.value)


@pytest.mark.parametrize("format_", [SEALED, OPEN])
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_written_is_read(format_: RecordFormat, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    format_.write(path, VALUES, indent=indent)
    assert format_.read(path) == VALUES
    assert list(json.loads(path.read_text()))[:2] == ["format", "version"]
    assert path.read_text() == json.dumps(format_.seal(VALUES), indent=indent) + "\n"
    assert format_.read(tmp_path / "none.json") is None


def test_the_checksum_is_that_of_files_written_before() -> None:
    """Where this fails, no record that was ever written is believed any more."""
    text = (
        '{"format": "nmrgcl-thing", "version": 3, "a": 1, '
        '"checksum": "cfff84bed2947733c45125c38a96cb6507eacf275d6a1ce502ab1ef62ec036ce"}'
    )
    assert SEALED.parse(text) == {"a": 1}
    assert SEALED.to_text({"a": 1}) == text
    assert OPEN.to_text({"a": 1}) == '{"format": "nmrgcl-thing", "version": 3, "a": 1}'


def test_every_changed_value_is_noticed() -> None:
    changes: list[dict[str, Any]] = [{"name": "Grösse"}, {"sizes": []}, {"one more": 1}, {"checksum": "0" * 64}]
    for change in [*changes, {"checksum": None}]:
        changed = SEALED.seal(VALUES) | change
        told = "was changed after it was written (its checksum does not match)"
        assert refused(SEALED, json.dumps(changed)) == ("changed", told)
    assert OPEN.parse(json.dumps(OPEN.seal(VALUES) | {"sizes": []})) == VALUES | {"sizes": []}


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "null", '"format"', "[" * 100_000, "\x00", b"\xff", '{"format": "nmrgcl-thing"}',
        '{"format": "other", "version": 3}', '{"format": "nmrgcl-thing", "version": "3"}',
        '{"format": "nmrgcl-thing", "version": true}', '{"format": "nmrgcl-thing", "version": 3, "a": NaN}',
        '{"format": "nmrgcl-thing", "version": 3, "a": 1e999}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_", [SEALED, OPEN])
def test_anything_else_is_not_such_a_record(format_: RecordFormat, text: str | bytes) -> None:
    assert refused(format_, text) == ("foreign", "not a thing")


def test_versions_that_are_not_read_are_told_apart_from_damage() -> None:
    def of(version: int) -> str:
        return json.dumps(SEALED.seal(VALUES) | {"version": version})

    assert refused(SEALED, of(4)) == ("newer", "written by a newer version (format 4)")
    assert refused(SEALED, of(1)) == ("older", "written by an earlier version (format 1)")
    assert refused(SEALED, of(2))[0] == "changed"  # it is read, and its checksum is that of version 3


def test_a_file_that_cannot_be_one_is_not_read(tmp_path: Path) -> None:
    def told(path: Path) -> str:
        with pytest.raises(RecordError) as caught:
            SEALED.read(path)
        return str(caught.value.told(ModelError, path.name, "write it again"))

    (tmp_path / "large").write_text(" " * 2001)
    assert told(tmp_path / "large") == "large: not a thing (larger than the limit of 0 MiB); write it again"
    assert told(tmp_path) == f"{tmp_path.name}: cannot be read (Is a directory); write it again"
    os.mkfifo(tmp_path / "pipe")
    assert told(tmp_path / "pipe") == "pipe: cannot be read (not a regular file); write it again"
    (tmp_path / "newer").write_text(json.dumps(SEALED.seal(VALUES) | {"version": 9}))
    assert told(tmp_path / "newer") == "newer: written by a newer version (format 9); upgrade nmrgcl"


def test_numbers_that_are_none_are_not_written(tmp_path: Path) -> None:
    values: dict[str, Any] = {"a": float("nan")}
    with pytest.raises(ValueError, match="not JSON compliant"):
        OPEN.write(tmp_path / "a", values)
    assert list(tmp_path.iterdir()) == []
