"""Records: JSON that says what it is by format and version, and mostly proves by a checksum that nobody changed it."""

import errno
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nmrgcl import atomic, reading
from nmrgcl.checksums import checksum_of
from nmrgcl.errors import UserError

_HEADER = ("format", "version", "checksum")


class RecordError(Exception):
    """Why a record cannot be used, in words that follow the name of its file.

    Attributes:
        problem: "unreadable" where the system refuses to read it, "foreign" where it is something else, "older" and
            "newer" where it is of another version, "changed" where its checksum does not match.
    """

    def __init__(self, problem: Literal["unreadable", "foreign", "older", "newer", "changed"], words: str) -> None:
        super().__init__(words)
        self.problem = problem

    def told(self, error: type[UserError], source: Path | str, remedy: str) -> UserError:
        """The line for users, with the remedy; that for a newer version is always the same."""
        return error(f"{source}: {self}; {'upgrade nmrgcl' if self.problem == 'newer' else remedy}")


@dataclass(frozen=True)
class RecordFormat:
    """One kind of record.

    Attributes:
        name: the value of ``format``.
        version: the one that is written, and the newest that is read.
        what: it is, in words that follow "not".
        oldest: version that is read.
        sealed: whether it has a checksum.
        limit: bytes that no such file exceeds.
    """

    name: str
    version: int
    what: str
    oldest: int = 1
    sealed: bool = True
    limit: int = reading.SMALL

    @property
    def mismatch(self) -> RecordError:
        """To be raised for values that are not what this kind of record holds."""
        return RecordError("foreign", f"not {self.what}")

    def seal(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with format and version before them and the checksum behind."""
        whole = {"format": self.name, "version": self.version, **values}
        return whole | {"checksum": checksum_of(whole)} if self.sealed else whole

    def to_text(self, values: Mapping[str, Any], indent: int | None = None) -> str:
        """The record as JSON, on one line unless it is indented."""
        return json.dumps(self.seal(values), indent=indent, allow_nan=False)

    def write(self, path: Path, values: Mapping[str, Any], *, token: str = "", indent: int | None = None) -> None:
        """Write the record, whole or not at all; names of unfinished files contain ``token``."""
        atomic.write_text(path, self.to_text(values, indent) + "\n", token)

    def parse(self, text: str | bytes) -> dict[str, Any]:
        """The values without their header; RecordError where ``text`` is not such a record, as it was written."""
        try:
            values = json.loads(text, parse_constant=_refuse, parse_float=_finite)
            version = values["version"]
            if values["format"] != self.name or type(version) is not int:
                raise self.mismatch
            unchanged = not self.sealed or values.get("checksum") == checksum_of(values)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self.mismatch from None
        if version > self.version:
            raise RecordError("newer", f"written by a newer version (format {version})")
        if version < self.oldest:
            raise RecordError("older", f"written by an earlier version (format {version})")
        if not unchanged:
            raise RecordError("changed", "was changed after it was written (its checksum does not match)")
        return {name: value for name, value in values.items() if name not in _HEADER}

    def read(self, path: Path) -> dict[str, Any] | None:
        """The values of a file; None where there is none, RecordError where it is not such a record."""
        try:
            return self.parse(reading.read_bytes(path, self.limit))
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise RecordError("foreign", f"not {self.what} ({error.strerror})") from None
            raise RecordError("unreadable", f"cannot be read ({error.strerror})") from None


def _finite(digits: str) -> float:
    return number if math.isfinite(number := float(digits)) else _refuse(digits)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number")
