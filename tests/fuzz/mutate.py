"""Inputs that nobody has seen: one to four small changes to a valid one, in bytes or in tokens of its format."""

import random
import re

from tests.fuzz.target import Files, Target

_NUMBER = re.compile(rb"-?\d+")
_NUMBERS: tuple[bytes, ...] = (
    b"0",
    b"-1",
    b"1",
    b"2",
    b"7",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967296",
    b"-9223372036854775809",
)
_NUMBERS += (b"99999999999999999999", b"1e308", b"1e999", b"0.5", b"-0", b"nan", b"inf", b"00", b"1_0", b"0x10")


def mutated(target: Target, random_: random.Random) -> Files:
    """An example of ``target`` with one of its files changed, now and then dropped or swapped."""
    files = dict(random_.choice(target.examples))
    name = random_.choice(sorted(files))
    fate = random_.random()
    if len(files) > 1 and fate < 0.02:
        del files[name]
        return files
    if len(files) > 1 and fate < 0.04:
        other = random_.choice(sorted(files))
        files[name], files[other] = files[other], files[name]
        return files
    data = files[name]
    for _ in range(random_.choice((1, 1, 1, 2, 3, 4))):
        data = _CHANGES[random_.randrange(len(_CHANGES))](data, target, random_)
    files[name] = data
    return files


def _flip(data: bytes, target: Target, random_: random.Random) -> bytes:
    if not data:
        return data
    at = random_.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random_.randrange(8)]) + data[at + 1 :]


def _byte(data: bytes, target: Target, random_: random.Random) -> bytes:
    at = random_.randrange(len(data) + 1)
    return data[:at] + bytes([random_.randrange(256)]) + data[at + random_.randrange(2) :]


def _token(data: bytes, target: Target, random_: random.Random) -> bytes:
    at = random_.randrange(len(data) + 1)
    return data[:at] + random_.choice(target.tokens) + data[at + random_.choice((0, 0, 1, 2, 4)) :]


def _number(data: bytes, target: Target, random_: random.Random) -> bytes:
    """Another number in the place of one."""
    places = list(_NUMBER.finditer(data, random_.randrange(len(data) + 1)))[:8] or list(_NUMBER.finditer(data))
    if not places:
        return _token(data, target, random_)
    place = random_.choice(places)
    return data[: place.start()] + random_.choice(_NUMBERS) + data[place.end() :]


def _cut(data: bytes, target: Target, random_: random.Random) -> bytes:
    start = random_.randrange(len(data) + 1)
    return data[:start] + data[start + random_.choice((1, 2, 4, 8, 16, len(data))) :]


def _repeat(data: bytes, target: Target, random_: random.Random) -> bytes:
    start = random_.randrange(len(data) + 1)
    piece = data[start : start + random_.choice((1, 2, 4, 8, 32))]
    return data[:start] + piece * random_.choice((2, 2, 3, 20)) + data[start + len(piece) :]


def _line(data: bytes, target: Target, random_: random.Random) -> bytes:
    """A line gone, twice, or in another place."""
    lines = data.split(b"\n")
    line = lines.pop(random_.randrange(len(lines)))
    for _ in range(random_.randrange(3)):
        lines.insert(random_.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


_CHANGES = (_flip, _byte, _token, _token, _number, _number, _cut, _repeat, _line)
