"""The ranks of a command that torchrun has started: how they find each other, and how they end.

Only rank 0 writes and prints. A rank that cannot go on leaves word in the store that torchrun keeps for them, and ends;
the others lose their connection to it, and rank 0 prints that word.
"""

import importlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType

import torch
from torch import distributed as dist

from nmrgcl.errors import DataWarning, SettingError, UserError, printable
from nmrgcl.run.attempts import agree_on_attempt
from nmrgcl.run.interrupt import Interrupted, handled
from nmrgcl.run.torchrun import has_other_ranks, is_restart
from nmrgcl.train.distributed import Ranks, joined

PATIENCE = timedelta(minutes=30)
"""How long ranks wait for one that is slow, for example because it still reads its data."""
_LAST_WORD = "last_word"
_LOST = ("gloo", "nccl", "connection", "process group", "socket")
"""Words in the errors of collective operations that have lost another rank."""


def rank_device(device: torch.device) -> torch.device:
    """The device of this rank: one GPU for each process of a machine."""
    local = int(os.environ.get("LOCAL_RANK") or 0)
    if device.type != "cuda" or not has_other_ranks():
        return device
    if local >= torch.cuda.device_count():
        raise SettingError(
            f"this machine has {torch.cuda.device_count()} GPUs, too few for {local + 1} ranks; lower --nproc-per-node"
        )
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


@contextmanager
def joined_ranks() -> Iterator[Ranks]:
    """Inside, this process trains together with the other processes that torchrun has started; else, alone."""
    if not has_other_ranks():
        yield Ranks(restarted=is_restart())
        return
    # DistributedDataParallel imports this module, whose default arguments keep the group that exists at that time. With
    # such a group, threads of gloo would outlive it and could abort the process while the interpreter shuts down.
    importlib.import_module("torch.distributed.nn.functional")
    try:
        store, rank, count = next(iter(dist.rendezvous("env://")))
        attempt = agree_on_attempt(store, rank, count, PATIENCE)
        store = dist.PrefixStore(f"nmrgcl/attempt/{attempt}", store)
        # The host exchanges a few numbers through gloo even if the tensors are on GPUs.
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise SettingError(
            f"the ranks did not find each other ({_first_line(error)}); start them with torchrun"
        ) from None
    ranks = Ranks(rank, count, restarted=is_restart() or attempt > 1)

    def stop(signum: int, frame: FrameType | None) -> None:
        """Torchrun ends all ranks if one has failed; the reason, if there is one, is more useful than the signal."""
        raise _told(store) or Interrupted(signum)

    try:
        with joined(ranks), handled(stop), warnings.catch_warnings():
            if not ranks.is_first:
                warnings.simplefilter("ignore", DataWarning)
            yield ranks
    except (UserError, OSError, MemoryError, RuntimeError, Interrupted) as error:
        reason = _understood(error, store)
        _leave_word(store, rank, reason)
        # Rank 0 prints an expected error for all; an unexpected one keeps its traceback on any rank.
        if ranks.is_first or not isinstance(reason, UserError | OSError | Interrupted):
            raise reason from None
        raise SystemExit(128 + reason.signum if isinstance(reason, Interrupted) else 2) from None
    finally:
        with suppress(RuntimeError):  # Connections may be lost already.
            dist.destroy_process_group()


def _understood(error: BaseException, store: dist.Store) -> BaseException:
    """The error itself or, if it is about a lost connection, why the other rank has ended."""
    lost = isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _LOST)
    if not lost:
        return error
    why = "was killed, or its connection was lost"
    if "timed out" in str(error).lower():
        why = f"has not answered for {PATIENCE.total_seconds() / 60:.3g} minutes"
    return _told(store) or UserError(f"another rank {why}; continue with --resume")


def _leave_word(store: dist.Store, rank: int, error: BaseException) -> None:
    """Let the other ranks know why this one ends; the first reason counts."""
    with suppress(RuntimeError):  # The store may be gone with the process that kept it.
        store.compare_set(_LAST_WORD, "", printable(f"rank {rank}: {_first_line(error)}"))


def _told(store: dist.Store) -> UserError | None:
    with suppress(RuntimeError):
        if store.check([_LAST_WORD]):
            return UserError(store.get(_LAST_WORD).decode())
    return None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
