"""Pickled arrays, sparse matrices and dictionaries of lists, read without unpickling.

A pickle is a program that may name any function of Python and call it. Here its operations work on plain values only:
seven names are known, each stands for a note of what it was given, and nothing is imported, called or set. Arrays are
made from the notes afterwards. Lists and dictionaries cannot be shared, so that what is read is a tree, and no larger
than the file: no nesting of repeated lists grows without end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nmrgcl.data.files.archive import Readable
from nmrgcl.data.formats.arrays import compressed_rows, make_array
from nmrgcl.errors import DataError

MAX_PICKLE = 64 << 20
"""PubMed's largest file has 7.6 MB."""

MAX_OPERATIONS = 10_000_000
"""PubMed's graph takes 170,000. Each may leave some hundred bytes in memory."""

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
_REMEDY = "nothing of it was run; fetch the file again"


@dataclass(frozen=True)
class _Name:
    """One of the known functions or classes."""

    kind: str


@dataclass(eq=False)
class _Note:
    """What would be an array, its type or a matrix, and the state it was given, once that has been looked at."""

    kind: str
    code: str = ""
    state: Any = None


class _Refused(Exception):
    """Why a pickle is not read."""


def interpret_pickle(stream: Readable, file: str) -> np.ndarray | csr_array | dict[int | str, Any]:
    """The array, float32 matrix or dictionary in a pickle of protocol 2 to 4; ``file`` is what messages call it.

    Keys of a dictionary are integers or text; its lists hold integers only. Text of Python 2 is read as Latin-1.
    """
    data = bytearray()
    while len(data) <= MAX_PICKLE and (block := stream.read(1 << 20)):
        data += block
    if len(data) > MAX_PICKLE:
        raise DataError(f"{file}: has more than {MAX_PICKLE >> 20} MiB, which no file of this kind has; refused")
    machine = _Machine(bytes(data))
    try:
        value = machine.run()
    except _Refused as error:
        raise DataError(f"{file}, byte {machine.at}: {error}; {_REMEDY}") from None
    try:
        if isinstance(value, _Note) and value.kind == "array":
            return _array(value, file)
        if isinstance(value, _Note) and value.kind == "matrix":
            return _matrix(value, file)
    except _Refused as error:
        raise DataError(f"{file}: {error}; {_REMEDY}") from None
    if not isinstance(value, dict):
        raise DataError(f"{file}: holds no array, sparse matrix or dictionary; {_REMEDY}")
    return value


class _Machine:
    """The operations of a pickle; each takes its arguments from the bytes and from the stack."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps, stack = self.data, _STEPS, self.stack
        for _ in range(MAX_OPERATIONS):
            if self.at >= len(data):
                raise _Refused("ends in the middle")
            code = data[self.at]
            self.at += 1
            if code == 0x2E:  # STOP
                if len(stack) != 1 or self.marks:
                    raise _Refused("stops with values left over")
                return stack[0]
            if (step := steps.get(code)) is None:
                raise _Refused(f"uses operation 0x{code:02x}, which no dataset needs")
            step(self)
        raise _Refused(f"takes more than {MAX_OPERATIONS} operations")

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if count < 0 or len(piece) != count:
            raise _Refused("ends in the middle")
        self.at += count
        return piece

    def number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)

    def pop(self) -> Any:
        # What lies below the last mark belongs to an operation that is still to come.
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise _Refused("takes a value that is not there")
        return self.stack.pop()

    def top(self) -> Any:
        self.stack.append(value := self.pop())
        return value

    def since_mark(self) -> list[Any]:
        if not self.marks:
            raise _Refused("takes values that are not there")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def text(self, width: int) -> None:
        if not (piece := self.take(self.number(width))).isascii():
            raise _Refused("holds text other than ASCII")
        self.stack.append(piece.decode("ascii"))

    def recall(self, index: int) -> None:
        value = self.memo.get(index, self)
        if value is self or isinstance(value, list | dict):
            raise _Refused("shares a list or what is not there")
        self.stack.append(value)

    def protocol(self) -> None:
        if (protocol := self.number(1)) not in (2, 3, 4):
            raise _Refused(f"is a pickle of protocol {protocol}, not 2 to 4")

    def frame(self) -> None:
        if self.number(8) > len(self.data) - self.at:
            raise _Refused("ends in the middle")

    def name(self) -> None:
        words = []
        for _ in range(2):
            end = self.data.find(b"\n", self.at)
            words.append(self.take(end - self.at).decode("latin1"))
            self.at += 1
        self.known(*words)

    def stacked_name(self) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise _Refused("names something by other than text")
        self.known(module, name)

    def known(self, module: str, name: str) -> None:
        if (kind := _NAMES.get(f"{module} {name}")) is None:
            asked = ascii(f"{module[:40]}.{name[:40]}")
            raise _Refused(f"asks for {asked}, which no dataset needs")
        self.stack.append(_Name(kind))

    def gather(self, count: int) -> None:
        self.stack.append(tuple([self.pop() for _ in range(count)][::-1]))

    def append(self, values: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, list) or any(type(value) is not int for value in values):
            raise _Refused("a list holds something other than integers")
        target.extend(values)

    def insert(self, values: list[Any]) -> None:
        target = self.top()
        keys = values[::2]
        # The hash of nested tuples can take for ever, so they are not tried.
        if not isinstance(target, dict) or len(values) % 2 or any(type(key) not in (int, str) for key in keys):
            raise _Refused("a dictionary has a key other than an integer or text")
        expected = len(target) + len(keys)
        target.update(zip(keys, values[1::2], strict=True))
        if len(target) != expected:
            raise _Refused("a dictionary has a key twice")

    def call(self) -> None:
        arguments, function = self.pop(), self.pop()
        kind = function.kind if isinstance(function, _Name) and isinstance(arguments, tuple) else None
        if kind == "dictionary" and _one_of(arguments, (), (_Name("list"),)):
            self.stack.append({})
        elif kind == "reconstruct" and _one_of(arguments, (_Name("array"), (0,), "b"), (_Name("array"), (0,), b"b")):
            self.stack.append(_Note("array"))
        elif kind == "dtype" and _one_of(arguments[1:], (0, 1), (False, True)) and isinstance(arguments[0], str):
            self.stack.append(_Note("dtype", arguments[0]))
        else:
            raise _Refused("calls something in a way that no dataset needs")

    def make(self) -> None:
        arguments, kind = self.pop(), self.pop()
        if kind != _Name("matrix") or arguments != ():
            raise _Refused("makes an object that no dataset needs")
        self.stack.append(_Note("matrix"))

    def build(self) -> None:
        state, target = self.pop(), self.top()
        if not isinstance(target, _Note) or target.state is not None:
            raise _Refused("sets the state of something that has none")
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


def _push(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(value)


_STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    0x95: _Machine.frame,
    ord("c"): _Machine.name,
    0x93: _Machine.stacked_name,
    ord("q"): lambda m: m.memo.__setitem__(m.number(1), m.top()),
    ord("r"): lambda m: m.memo.__setitem__(m.number(4), m.top()),
    0x94: lambda m: m.memo.__setitem__(len(m.memo), m.top()),
    ord("h"): lambda m: m.recall(m.number(1)),
    ord("j"): lambda m: m.recall(m.number(4)),
    ord("N"): _push(None),
    0x88: _push(True),
    0x89: _push(False),
    ord("K"): lambda m: m.stack.append(m.number(1)),
    ord("M"): lambda m: m.stack.append(m.number(2)),
    ord("J"): lambda m: m.stack.append(m.number(4, signed=True)),
    0x8A: lambda m: m.stack.append(m.number(m.number(1), signed=True)),
    ord("U"): lambda m: m.stack.append(m.take(m.number(1)).decode("latin1")),
    ord("T"): lambda m: m.stack.append(m.take(m.number(4, signed=True)).decode("latin1")),
    ord("C"): lambda m: m.stack.append(m.take(m.number(1))),
    ord("B"): lambda m: m.stack.append(m.take(m.number(4))),
    0x8C: lambda m: m.text(1),
    ord("X"): lambda m: m.text(4),
    ord("("): lambda m: m.marks.append(len(m.stack)),
    ord(")"): _push(()),
    0x85: lambda m: m.gather(1),
    0x86: lambda m: m.gather(2),
    0x87: lambda m: m.gather(3),
    ord("t"): lambda m: m.stack.append(tuple(m.since_mark())),
    ord("]"): lambda m: m.stack.append([]),
    ord("}"): lambda m: m.stack.append({}),
    ord("a"): lambda m: m.append([m.pop()]),
    ord("e"): lambda m: m.append(m.since_mark()),
    ord("s"): lambda m: m.insert([m.pop(), m.pop()][::-1]),
    ord("u"): lambda m: m.insert(m.since_mark()),
    ord("R"): _Machine.call,
    0x81: _Machine.make,
    ord("b"): _Machine.build,
}


def _array_state(code: str, state: Any) -> tuple[str, tuple[int, ...], bool, str | bytes]:
    """Type, shape, order and bytes of an array that NumPy noted as ``(1, shape, dtype, fortran order, bytes)``."""
    if not isinstance(state, tuple) or len(state) != 5 or not _one_of(state[0], 1):
        raise _Refused("holds an array of an unknown kind")
    _, shape, dtype, fortran, data = state
    if not isinstance(dtype, _Note) or dtype.kind != "dtype" or not dtype.state:
        raise _Refused("holds an array of an unknown type")
    if type(fortran) is not bool or not isinstance(data, str | bytes):
        raise _Refused("holds an array without bytes")
    if not isinstance(shape, tuple) or any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):
        raise _Refused("holds an array with an impossible shape")
    if math.prod(shape) * int(dtype.code[1:]) != len(data):
        raise _Refused("holds an array with more or fewer bytes than its shape needs")
    return dtype.state, shape, fortran, data


def _dtype_state(code: str, state: Any) -> str:
    """The byte order in front of the code."""
    if not isinstance(state, tuple) or not _one_of(state[:1] + state[2:], (3, None, None, None, -1, -1, 0)):
        raise _Refused("holds an array of an unknown type")
    if code not in _CODES or state[1] not in (("|",) if code[1:] == "1" else ("<", ">")):
        raise _Refused("holds an array of other than booleans, integers or floats")
    return f"{state[1]}{code}"


def _matrix_state(code: str, state: Any) -> dict[Any, Any]:
    if not isinstance(state, dict):
        raise _Refused("holds a matrix of an unknown kind")
    return state


_CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_STATES: dict[str, Callable[[str, Any], Any]] = {"array": _array_state, "dtype": _dtype_state, "matrix": _matrix_state}


def _array(note: Any, place: str) -> np.ndarray:
    if not isinstance(note, _Note) or note.kind != "array" or note.state is None:
        raise _Refused("holds something else where an array should be")
    descr, shape, fortran, data = note.state
    return make_array(descr, shape, fortran, data.encode("latin1") if isinstance(data, str) else data, place)


def _matrix(note: _Note, place: str) -> csr_array:
    """``indptr``, ``indices`` and ``data``, checked; what else SciPy noted about the matrix can be found again."""
    state = note.state or {}
    shape = state.get("_shape")
    if not isinstance(shape, tuple) or len(shape) != 2 or any(type(n) is not int or n >> 48 for n in shape):
        raise _Refused("holds a matrix with an impossible shape")
    data, indices, indptr = (_array(state.get(k), f"{place}, {k}") for k in ("data", "indices", "indptr"))
    return compressed_rows(data, indices, indptr, (shape[0], shape[1]), f"{place}, ")
