"""User code: Python files of methods and encoders, identified by their digest.

A file that the user names on the command line or in Python is copied to ``NMRGCL_HOME/code`` and identified by a
reference, NAME@DIGEST, which stands for the same code on every machine. Settings, cell keys and model folders contain
the reference; workers and later processes find the copy. A model, config or result can only refer to code that this
user has named before; it never brings code that is executed.
"""

import hashlib
import re
import sys
import traceback
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from nmrgcl import atomic, reading
from nmrgcl.errors import SettingError
from nmrgcl.home import home

REFERENCE = re.compile(r"([^\W\d]\w*)@([0-9a-f]{32})")
LARGEST = 1 << 20
_live: dict[str, ModuleType] = {}
"""Modules of this process by reference; classes defined outside of a file exist only here."""


def is_path(name: str) -> bool:
    """Return True if ``name`` is a Python file."""
    return name.endswith(".py")


def is_reference(name: str) -> bool:
    """Return True if ``name`` is a reference to user code."""
    return REFERENCE.fullmatch(name) is not None


def label(name: str) -> str:
    """Return the name for display, without the digest of a reference."""
    return name.partition("@")[0]


def remember(path: Path | str) -> str:
    """Keep a copy of a Python file that the user has named, and return its reference."""
    path = Path(path)
    try:
        source = reading.read_bytes(path, LARGEST)
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror})") from None
    if not re.fullmatch(r"[^\W\d]\w*", path.stem):
        raise SettingError(f"{path}: the name of the file must be a valid identifier, for example my_method.py")
    reference = f"{path.stem}@{_digest(source)}"
    kept = _place(reference)
    kept.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(kept, source)
    atomic.write_text(kept.with_suffix(".origin"), f"{path.resolve()}\n")
    return reference


def remember_module(name: str, module: ModuleType, source: str) -> str:
    """Register the code of a class without a file of its own, for this process only."""
    reference = f"{name}@{_digest(source.encode())}"
    _live[reference] = module
    return reference


def load_code(reference: str, command: str = "nmrgcl methods") -> ModuleType:
    """Return the module for ``reference``, which the user must have named before, for example with ``command`` FILE."""
    if reference not in _live:
        _live[reference] = _run(reference, command)
    return _live[reference]


def origin(reference: str) -> Path:
    """Return the original file; its folder may contain more, such as a preset."""
    try:
        return Path(reading.read_text(_place(reference).with_suffix(".origin")).strip())
    except (OSError, ValueError):
        return Path(f"{label(reference)}.py")


def is_kept(reference: str) -> bool:
    """Return True if there is a copy of its file; a class defined in Python has none."""
    return _place(reference).exists()


def told(error: Exception, reference: str) -> str:
    """Return the end of a message about an error in user code: its place in the file, if known, and its text."""
    at = f" of {origin(reference)}{_line(error, _place(reference))}" if is_kept(reference) else ""
    return f"{at}: {type(error).__name__}: {_words(error)}"


def _run(reference: str, command: str) -> ModuleType:
    place, file = _place(reference), origin(reference)
    try:
        source = reading.read_bytes(place, LARGEST)
    except OSError:
        raise SettingError(
            f"{reference}: its file {file} is unknown on this machine; name it once, for example with {command} {file}"
        ) from None
    if f"{label(reference)}@{_digest(source)}" != reference:
        raise SettingError(f"{place}: was changed after it was copied; name {file} again")
    name = f"nmrgcl_code_{reference.replace('@', '_')}"
    spec = spec_from_loader(name, loader=None, origin=str(place))
    assert spec is not None
    module = module_from_spec(spec)
    module.__file__ = str(place)
    sys.modules[name] = module  # needed by dataclasses and annotations
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for imports from the same folder
    try:
        exec(compile(source, str(place), "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        raise SettingError(f"{file}{_line(error, place)}: {type(error).__name__}: {_words(error)}") from None
    return module


def _line(error: Exception, place: Path) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(place)]
    return f", line {lines[-1]}" if lines else ""


def _words(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(text.split())[:300]


def _place(reference: str) -> Path:
    return home() / "code" / f"{reference}.py"


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:32]
