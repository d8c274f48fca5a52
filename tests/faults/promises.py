"""Every promise, how much of it is tried in the long form, and how much in a share of it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.crowds import crowds
from tests.faults.cuts import cuts
from tests.faults.devices import devices
from tests.faults.disk import disk
from tests.faults.flat import flat
from tests.faults.flips import flips
from tests.faults.foreign import foreign
from tests.faults.forged import forged
from tests.faults.kills import kills
from tests.faults.malice import malice
from tests.faults.methods import methods
from tests.faults.poison import poison
from tests.faults.shortage import shortage
from tests.faults.sweeps import sweeps
from tests.faults.tally import Tally


@dataclass(frozen=True)
class Promise:
    """What tries it, in full and in part."""

    full: Callable[[], Tally]
    share: Callable[[], Tally]


PROMISES = {
    "kills": Promise(lambda: kills(1000), lambda: kills(40)),
    "methods": Promise(methods, methods),
    "cuts": Promise(lambda: cuts(1), lambda: cuts(5, every=3)),
    "flips": Promise(lambda: flips(10_000), lambda: flips(600)),
    "malice": Promise(malice, malice),
    "foreign": Promise(lambda: foreign(1_050), lambda: foreign(42)),
    "devices": Promise(devices, devices),
    "forged": Promise(lambda: forged(3), lambda: forged(29)),
    "crowds": Promise(lambda: crowds(800), lambda: crowds(56)),
    "disk": Promise(lambda: disk(40), lambda: disk(8)),
    "shortage": Promise(lambda: shortage(64), lambda: shortage(12)),
    "poison": Promise(poison, poison),
    "flat": Promise(lambda: flat(10_000), lambda: flat(2_000)),
    "sweeps": Promise(lambda: sweeps(50), lambda: sweeps(3)),
}
