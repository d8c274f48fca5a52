"""Records: JSON files with format, version and, in most cases, a checksum."""

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
    """The reason why a record cannot be used, as a text that follows the name of its file.

    Attributes:
        problem: "unreadable" if the system cannot read it, "foreign" if it is something else, "older" or "newer" for
            another version, "changed" if its checksum does not match.
    """

    def __init__(self, problem: Literal["unreadable", "foreign", "older", "newer", "changed"], words: str) -> None:
        super().__init__(words)
        self.problem = problem

    def told(self, error: type[UserError], source: Path | str, remedy: str) -> UserError:
        """Return the error for users; the remedy for a newer version is always to upgrade."""
        return error(f"{source}: {self}; {'upgrade nmrgcl' if self.problem == 'newer' else remedy}")


@dataclass(frozen=True)
class RecordFormat:
    """A kind of record.

    Attributes:
        name: the value of ``format``.
        version: the version that is written, and the newest that is read.
        what: a description that can follow "not".
        oldest: the oldest version that is read.
        sealed: True if it has a checksum.
        limit: largest size of the file.
    """

    name: str
    version: int
    what: str
    oldest: int = 1
    sealed: bool = True
    limit: int = reading.SMALL

    @property
    def mismatch(self) -> RecordError:
        """The error for values that do not belong in this kind of record."""
        return RecordError("foreign", f"not {self.what}")

    def seal(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Add format, version and checksum to the values."""
        whole = {"format": self.name, "version": self.version, **values}
        return whole | {"checksum": checksum_of(whole)} if self.sealed else whole

    def to_text(self, values: Mapping[str, Any], indent: int | None = None) -> str:
        """Return the record as JSON, on one line unless it is indented."""
        return json.dumps(self.seal(values), indent=indent, allow_nan=False)

    def write(self, path: Path, values: Mapping[str, Any], *, token: str = "", indent: int | None = None) -> None:
        """Write the record atomically; the name of the unfinished file contains ``token``."""
        atomic.write_text(path, self.to_text(values, indent) + "\n", token)

    def parse(self, text: str | bytes) -> dict[str, Any]:
        """Return the values without the header; raise RecordError if ``text`` is not an intact record of this kind."""
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
        """Read a file; return None if it does not exist, and raise RecordError if it is not such a record."""
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
