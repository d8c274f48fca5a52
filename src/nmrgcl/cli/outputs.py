"""Check where a command writes before it computes anything."""

import os
import tempfile
from pathlib import Path

from nmrgcl.errors import SettingError
from nmrgcl.owned import is_plain


def require_out(out: Path, *inputs: str | Path) -> None:
    """Refuse, before anything is computed, a file that is one of the ``inputs`` or cannot be written."""
    for given in (Path(name).expanduser() for name in inputs):
        if given.exists() and out.exists() and os.path.samefile(given, out):
            raise SettingError(f"--out {out}: is the input file; choose another name")
    if os.path.lexists(out) and not is_plain(out):
        raise SettingError(f"--out {out}: is not a regular file; choose another name")
    if not out.parent.exists():
        raise SettingError(f"--out {out}: the folder {out.parent} does not exist")
    require_room(out, out.parent)


def require_room(out: Path, folder: Path) -> None:
    """Refuse an ``out`` for which nothing can be created in ``folder``."""
    try:
        tempfile.TemporaryDirectory(prefix=".nmrgcl-", dir=folder).cleanup()
    except OSError as error:
        raise SettingError(f"--out {out}: cannot be written ({error.strerror}); choose another place") from None
