"""Flipped bits, lost ends and blocks of zeros in every kind of file: refused in one line, or read as if undamaged."""

import random
from pathlib import Path
from typing import Any

from nmrgcl.errors import UserError
from tests.faults.kinds import Kind, all_kinds
from tests.faults.small import scratch
from tests.faults.tally import Tally


def flips(amount: int, seed: int = 0) -> Tally:
    """``amount`` damages, as many for each file."""
    tally = Tally("damaged files refused in one line, or read as if undamaged")
    chance = random.Random(f"flips {seed}")
    with tally.timed(), scratch() as folder:
        kinds = all_kinds(folder)
        cases = [(name, kind, path) for name, kind in kinds.items() for path in kind.files]
        originals = {name: kind.read() for name, kind in kinds.items()}
        tally.facts = {"refused": 0, "read as if undamaged": 0, "files": len(cases)}
        for number in range(amount):
            name, kind, path = cases[number % len(cases)]
            with tally.trial(f"{name}, {path.name}, damage {number}"):
                verdict = _try(kind, path, originals[name], chance)
                tally.facts[verdict] += 1
    return tally


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Other bytes: some bits flipped, the end lost, or the end a run of zeros, as a disk may leave them."""
    how = chance.random()
    at = chance.randrange(len(content))
    if how < 0.3:
        return content[:at]
    if how < 0.4 and any(content[at:]):
        return content[:at] + bytes(len(content) - at)
    changed = bytearray(content)
    for place in {at, *(chance.randrange(len(content)) for _ in range(chance.choice((0, 0, 0, 1, 4))))}:
        changed[place] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _try(kind: Kind, path: Path, original: Any, chance: random.Random) -> str:
    content = path.read_bytes()
    path.write_bytes(damaged(content, chance))
    told = None
    try:
        found = kind.read()
    except UserError as error:
        found, told = None, str(error)
    finally:
        path.write_bytes(content)
    if told is not None:
        assert told.isprintable(), f"not one clean line: {told!r}"
        assert told, "refused without a word"
        return "refused"
    assert found == original or not kind.guarded, "another content was accepted in silence"
    return "read as if undamaged"
