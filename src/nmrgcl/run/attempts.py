"""How ranks that torchrun has started again tell each other apart from those that they replace.

The store by which ranks find each other belongs to torchrun and survives a restart, with the addresses of ranks that no
longer exist. On several nodes, torchrun's own count of restarts may differ from node to node. So rank 0 numbers the
attempts in the store and tells the others the number; each asks by a random name, which no earlier rank can have used.
"""

import secrets
import time
from datetime import timedelta

from torch import distributed as dist

_LOOK_EVERY = 0.01


def agree_on_attempt(store: dist.Store, rank: int, count: int, patience: timedelta) -> int:
    """The number of this attempt to train, from 1; the same on all ``count`` ranks, which all call this."""
    if rank:
        own = f"nmrgcl/asks/{secrets.token_hex(8)}"
        store.set(f"nmrgcl/rank/{rank}", own)
        store.wait([own], patience)
        attempt = int(store.get(own))
        store.set(_here(attempt, rank), "yes")
        return attempt
    attempt = store.add("nmrgcl/attempts", 1)
    waiting, until = set(range(1, count)), time.monotonic() + patience.total_seconds()
    while waiting:
        waiting -= {other for other in waiting if store.check([_here(attempt, other)])}
        # The key may still hold the name by which a dead rank asked, so this repeats until the new one has been heard.
        for other in waiting:
            if store.check([f"nmrgcl/rank/{other}"]):
                store.set(store.get(f"nmrgcl/rank/{other}").decode(), str(attempt))
        if time.monotonic() > until:
            raise RuntimeError(f"rank {min(waiting)} did not start")
        time.sleep(_LOOK_EVERY)
    return attempt


def _here(attempt: int, rank: int) -> str:
    return f"nmrgcl/attempt/{attempt}/rank/{rank}"
