"""A folder of results: one small file a cell, named by the cell's key, whole or not there."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmrgcl import atomic
from nmrgcl.errors import DataError, SettingError
from nmrgcl.owned import remove_empty, require_no_link
from nmrgcl.run.cell import KEY
from nmrgcl.run.result import DamagedError, Result, read_result
from nmrgcl.train.checkpoint import remove_checkpoints

_DONE = re.compile(rf"({KEY.pattern})\.json")
_FAILED = re.compile(rf"({KEY.pattern})\.failed\.json")


def token_of(key: str) -> str:
    """What the names of unfinished files of a cell or of a training contain."""
    return key[:16]


class Results:
    """``KEY.json`` for finished cells and ``KEY.failed.json`` for failed ones, which are tried again.

    Work in progress is in ``.work/KEY``, locks are in ``.locks``, trainings that cells share in ``.trained``.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise SettingError(f"{self.folder}: is a file; choose another folder for results")

    def path(self, key: str, status: str = "done") -> Path:
        """Where the result of that key is, or would be."""
        if not KEY.fullmatch(key):
            raise SettingError(f"{key!r}: not the key of a cell; nmrgcl results list shows them")
        return self.folder / f"{key}{'' if status == 'done' else '.failed'}.json"

    def work(self, key: str) -> Path:
        """The folder of a cell under way."""
        return self._hidden(".work") / self.path(key).stem

    def trained(self, training: str) -> Path:
        """The folder of a training that cells share while they are computed."""
        return self._hidden(".trained") / training

    @property
    def locks(self) -> Path:
        """The folder of the locks of cells under way."""
        return self._hidden(".locks")

    def remove_work(self, key: str) -> None:
        """Remove the checkpoints of a cell."""
        _remove(self.work(key), key)

    def remove_trained(self, training: str) -> None:
        """Remove the weights that cells have shared."""
        _remove(self.trained(training), training)

    @contextmanager
    def staying(self) -> Iterator[None]:
        """SettingError at the end of the block if the folder was deleted or replaced meanwhile."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)  # which keeps its inode from being used again
        try:
            yield
            if not self.folder.is_dir() or not os.path.samestat(os.fstat(descriptor), self.folder.stat()):
                raise SettingError(
                    f"{self.folder}: was deleted during the run, and results with it; the same command goes on"
                )
        finally:
            os.close(descriptor)

    def require_no_links(self) -> None:
        """Refuse to compute cells where work in progress would be written through a link."""
        for name in (".work", ".locks", ".trained"):
            self._hidden(name)

    def _hidden(self, name: str) -> Path:
        require_no_link(self.folder / name)
        return self.folder / name

    def get(self, key: str) -> Result | None:
        """The finished cell; None where there is none, DamagedError where its file is not what was written."""
        return self._read(key, "done")

    def finished(self, key: str) -> Result | None:
        """Likewise, but a damaged one is named on standard error and counts as none."""
        try:
            return self.get(key)
        except DamagedError as error:
            print(f"nmrgcl: {error}; it is computed again", file=sys.stderr, flush=True)
            return None

    def put(self, result: Result) -> None:
        """Write a finished or failed cell; a finished one takes the place of a failed one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.remove_strays(result.key)
        atomic.write_text(self.path(result.key, result.status), result.to_json() + "\n", token_of(result.key))
        if result.status == "done":
            self.path(result.key, "failed").unlink(missing_ok=True)

    def remove_strays(self, key: str) -> None:
        """Remove what a process that was killed had not finished writing; for the owner of the cell's lock."""
        atomic.remove_strays(self.folder, token_of(key))

    def keys(self) -> list[str]:
        """Of the finished cells."""
        return self._named(_DONE)

    def all(self) -> tuple[list[Result], list[str]]:
        """The finished cells, and a line about each file that is not usable."""
        return self._read_all(self.keys(), "done")

    def failed(self) -> list[Result]:
        """The cells that failed and have not been finished since."""
        finished = set(self.keys())
        return self._read_all([key for key in self._named(_FAILED) if key not in finished], "failed")[0]

    def find(self, beginning: str) -> Result:
        """The only cell, finished or failed, whose key begins so."""
        keys = {key for key in [*self.keys(), *self._named(_FAILED)] if key.startswith(beginning)}
        if len(keys) != 1 or not beginning:
            found = f"{len(keys)} cells have keys that begin so" if keys else "no cell has a key that begins so"
            raise SettingError(f"{self.folder}: {beginning!r}: {found}; nmrgcl results list shows them")
        key = keys.pop()
        result = self.get(key) or self._read(key, "failed")
        if result is None:
            raise SettingError(f"{self.folder}: {key} has just been removed")
        return result

    def _named(self, pattern: re.Pattern[str]) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(match[1] for path in self.folder.iterdir() if (match := pattern.fullmatch(path.name)))

    def _read(self, key: str, status: str) -> Result | None:
        path = self.path(key, status)
        result = read_result(path)
        if result is not None and (result.key, result.status) != (key, status):
            raise DamagedError(f"{path}: damaged, it holds another cell than its name says")
        return result

    def _read_all(self, keys: list[str], status: str) -> tuple[list[Result], list[str]]:
        found, problems = [], []
        for key in keys:
            try:
                result = self._read(key, status)
            except DataError as error:
                problems.append(str(error))
            else:
                found += [result] if result else []
        return found, problems


def _remove(folder: Path, key: str) -> None:
    """Remove the checkpoints in the folders of ``folder``, one for each version of the data, and what is empty then."""
    for part in folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ():
        remove_checkpoints(part, token_of(key))
    remove_empty(folder)
