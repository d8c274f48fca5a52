"""The operations of a pickle, carried out on plain values.

A pickle is a program for a machine with a stack. What it names and calls is looked up in ``pickle_notes``, which runs
nothing. Lists and dictionaries cannot be shared, so that what is read is a tree, and no larger than the file: no
nesting of repeated lists grows without end.
"""

from collections.abc import Callable
from typing import Any

from nmrgcl.data.formats.pickle_notes import REMEDY, Refused, build, call, find, make
from nmrgcl.errors import DataError

MAX_OPERATIONS = 10_000_000
"""PubMed's graph takes 170,000. Each may leave some hundred bytes in memory."""


def evaluate(data: bytes, file: str) -> Any:
    """What a pickle of protocol 2 to 4 leaves on the stack: a note, a list, a dictionary or a plain value."""
    machine = _Machine(data)
    try:
        return machine.run()
    except Refused as error:
        raise DataError(f"{file}, byte {machine.at}: {error}; {REMEDY}") from None


class _Machine:
    """The operations; each takes its arguments from the bytes and from the stack."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps, stack = self.data, _STEPS, self.stack
        for _ in range(MAX_OPERATIONS):
            if self.at >= len(data):
                raise Refused("ends in the middle")
            code = data[self.at]
            self.at += 1
            if code == 0x2E:  # STOP
                if len(stack) != 1 or self.marks:
                    raise Refused("stops with values left over")
                return stack[0]
            if (step := steps.get(code)) is None:
                raise Refused(f"uses operation 0x{code:02x}, which no dataset needs")
            step(self)
        raise Refused(f"takes more than {MAX_OPERATIONS} operations")

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if count < 0 or len(piece) != count:
            raise Refused("ends in the middle")
        self.at += count
        return piece

    def number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)

    def pop(self) -> Any:
        # What lies below the last mark belongs to an operation that is still to come.
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise Refused("takes a value that is not there")
        return self.stack.pop()

    def top(self) -> Any:
        self.stack.append(value := self.pop())
        return value

    def since_mark(self) -> list[Any]:
        if not self.marks:
            raise Refused("takes values that are not there")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def text(self, width: int) -> None:
        if not (piece := self.take(self.number(width))).isascii():
            raise Refused("holds text other than ASCII")
        self.stack.append(piece.decode("ascii"))

    def recall(self, index: int) -> None:
        value = self.memo.get(index, self)
        if value is self or isinstance(value, list | dict):
            raise Refused("shares a list or what is not there")
        self.stack.append(value)

    def protocol(self) -> None:
        if (protocol := self.number(1)) not in (2, 3, 4):
            raise Refused(f"is a pickle of protocol {protocol}, not 2 to 4")

    def frame(self) -> None:
        if self.number(8) > len(self.data) - self.at:
            raise Refused("ends in the middle")

    def name(self) -> None:
        words = []
        for _ in range(2):
            end = self.data.find(b"\n", self.at)
            words.append(self.take(end - self.at).decode("latin1"))
            self.at += 1
        self.stack.append(find(*words))

    def stacked_name(self) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise Refused("names something by other than text")
        self.stack.append(find(module, name))

    def gather(self, count: int) -> None:
        self.stack.append(tuple([self.pop() for _ in range(count)][::-1]))

    def append(self, values: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, list) or any(type(value) is not int for value in values):
            raise Refused("a list holds something other than integers")
        target.extend(values)

    def insert(self, values: list[Any]) -> None:
        target = self.top()
        keys = values[::2]
        # The hash of nested tuples can take for ever, so they are not tried.
        if not isinstance(target, dict) or len(values) % 2 or any(type(key) not in (int, str) for key in keys):
            raise Refused("a dictionary has a key other than an integer or text")
        expected = len(target) + len(keys)
        target.update(zip(keys, values[1::2], strict=True))
        if len(target) != expected:
            raise Refused("a dictionary has a key twice")

    def call(self) -> None:
        arguments, function = self.pop(), self.pop()
        self.stack.append(call(function, arguments))

    def make(self) -> None:
        arguments, kind = self.pop(), self.pop()
        self.stack.append(make(kind, arguments))

    def build(self) -> None:
        state, target = self.pop(), self.top()
        build(target, state)


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
