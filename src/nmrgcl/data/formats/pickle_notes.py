"""The few things a pickle may ask for by name, and the notes that are kept in the place of arrays and matrices.

Six things are known, under nine names, because three of them have moved to other modules over the years. They are
taken with the arguments and the states that NumPy and SciPy write and with no others; nothing is imported or called.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REMEDY = "nothing of it was run; fetch the file again"
_NAMES = {
    "collections defaultdict": "dictionary",
    "__builtin__ list": "list",
    "builtins list": "list",
    "scipy.sparse.csr csr_matrix": "matrix",
    "scipy.sparse._csr csr_matrix": "matrix",
    "numpy.core.multiarray _reconstruct": "reconstruct",
    "numpy._core.multiarray _reconstruct": "reconstruct",
    "numpy ndarray": "array",
    "numpy dtype": "dtype",
}


@dataclass(frozen=True)
class Name:
    """One of the known functions or classes."""

    kind: str


@dataclass(eq=False)
class Note:
    """What would be an array, its type or a matrix, and the state it was given, once that has been looked at."""

    kind: str
    code: str = ""
    state: Any = None


class Refused(Exception):
    """Why a pickle is not read."""


def find(module: str, name: str) -> Name:
    """The known thing of that name; every other is refused."""
    if (kind := _NAMES.get(f"{module} {name}")) is None:
        asked = ascii(f"{module[:40]}.{name[:40]}")
        raise Refused(f"asks for {asked}, which no dataset needs")
    return Name(kind)


def call(function: Any, arguments: Any) -> Note | dict[Any, Any]:
    """What a known function would return for the arguments that datasets give it: an empty dictionary or a note."""
    kind = function.kind if isinstance(function, Name) and isinstance(arguments, tuple) else None
    if kind == "dictionary" and _one_of(arguments, (), (Name("list"),)):
        return {}
    if kind == "reconstruct" and _one_of(arguments, (Name("array"), (0,), "b"), (Name("array"), (0,), b"b")):
        return Note("array")
    if kind == "dtype" and _one_of(arguments[1:], (0, 1), (False, True)) and isinstance(arguments[0], str):
        return Note("dtype", arguments[0])
    raise Refused("calls something in a way that no dataset needs")


def make(kind: Any, arguments: Any) -> Note:
    """What would be a new object of a class: only ever a matrix without arguments."""
    if kind != Name("matrix") or arguments != ():
        raise Refused("makes an object that no dataset needs")
    return Note("matrix")


def build(target: Any, state: Any) -> None:
    """Give a note its state, once, if that is what NumPy or SciPy would have written."""
    if not isinstance(target, Note) or target.state is not None:
        raise Refused("sets the state of something that has none")
    target.state = _STATES[target.kind](target.code, state)


def _one_of(found: Any, *expected: Any) -> bool:
    """Equal to one of them and of the same types throughout: True is no 1 here."""
    for value in expected:
        if type(found) is type(value) and isinstance(value, tuple):
            if len(found) == len(value) and all(map(_one_of, found, value)):
                return True
        elif type(found) is type(value) and found == value:
            return True
    return False


def _array_state(code: str, state: Any) -> tuple[str, tuple[int, ...], bool, str | bytes]:
    """Type, shape, order and bytes of an array that NumPy noted as ``(1, shape, dtype, fortran order, bytes)``."""
    if not isinstance(state, tuple) or len(state) != 5 or not _one_of(state[0], 1):
        raise Refused("holds an array of an unknown kind")
    _, shape, dtype, fortran, data = state
    if not isinstance(dtype, Note) or dtype.kind != "dtype" or not dtype.state:
        raise Refused("holds an array of an unknown type")
    if type(fortran) is not bool or not isinstance(data, str | bytes):
        raise Refused("holds an array without bytes")
    if not isinstance(shape, tuple) or any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):
        raise Refused("holds an array with an impossible shape")
    if math.prod(shape) * int(dtype.code[1:]) != len(data):
        raise Refused("holds an array with more or fewer bytes than its shape needs")
    return dtype.state, shape, fortran, data


def _dtype_state(code: str, state: Any) -> str:
    """The byte order in front of the code."""
    if not isinstance(state, tuple) or not _one_of(state[:1] + state[2:], (3, None, None, None, -1, -1, 0)):
        raise Refused("holds an array of an unknown type")
    if code not in _CODES or state[1] not in (("|",) if code[1:] == "1" else ("<", ">")):
        raise Refused("holds an array of other than booleans, integers or floats")
    return f"{state[1]}{code}"


def _matrix_state(code: str, state: Any) -> dict[Any, Any]:
    if not isinstance(state, dict):
        raise Refused("holds a matrix of an unknown kind")
    return state


_CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_STATES: dict[str, Callable[[str, Any], Any]] = {"array": _array_state, "dtype": _dtype_state, "matrix": _matrix_state}
