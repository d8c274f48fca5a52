"""Inputs that nobody has seen: one to four small changes to a valid one, in bytes or in tokens of its format."""

import random
import re

from tests.fuzz.target import Files, Target

_NUMBER = re.compile(rb"-?\d+")
_NUMBERS = (
    b"0 -1 1 2 7 255 65536 2147483648 4294967296 -9223372036854775809 99999999999999999999 "
    b"1e308 1e999 0.5 -0 nan inf 00 1_0 0x10"
).split()


def mutated(target: Target, random_: random.Random) -> Files:
    """An example of ``target`` with one of its files changed, now and then dropped or swapped."""
    files = dict(random_.choice(target.examples))
    name, other = random_.choice(sorted(files)), random_.choice(sorted(files))
    fate = random_.random() if len(files) > 1 else 1.0
    if fate < 0.02:
        del files[name]
    elif fate < 0.04:
        files[name], files[other] = files[other], files[name]
    else:
        for _ in range(random_.choice((1, 1, 1, 2, 3, 4))):
            files[name] = _changed(files[name], target.tokens, random_)
    return files


def _changed(data: bytes, tokens: tuple[bytes, ...], random_: random.Random) -> bytes:
    """Something else in the place of some bytes, or a line gone, twice, or elsewhere."""
    kind = random_.choice(("bit", "byte", "token", "token", "number", "number", "cut", "repeat", "line"))
    if kind == "line":
        lines = data.split(b"\n")
        line = lines.pop(random_.randrange(len(lines)))
        for _ in range(random_.randrange(3)):
            lines.insert(random_.randrange(len(lines) + 1), line)
        return b"\n".join(lines)
    start = random_.randrange(len(data) + 1)
    if kind == "bit":
        end, new = start + 1, bytes(byte ^ 1 << random_.randrange(8) for byte in data[start : start + 1])
    elif kind == "byte":
        end, new = start + random_.randrange(2), random_.randbytes(1)
    elif kind == "number" and (found := _NUMBER.search(data, start) or _NUMBER.search(data)):
        start, end, new = found.start(), found.end(), random_.choice(_NUMBERS)
    elif kind == "cut":
        end, new = start + random_.choice((1, 2, 4, 8, 16, len(data))), b""
    elif kind == "repeat":
        end = start + random_.choice((1, 2, 4, 8, 32))
        new = data[start:end] * random_.choice((2, 2, 3, 20))
    else:
        end, new = start + random_.choice((0, 0, 1, 2, 4)), random_.choice(tokens)
    return data[:start] + new + data[end:]
