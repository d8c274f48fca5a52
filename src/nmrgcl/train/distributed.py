"""One training by several processes (ranks), each of which computes a part of every batch.

All ranks draw the same order of graphs. Of every batch, each rank takes its own part; ``nmrgcl.ops.across_ranks`` makes
the losses of the parts add up to that of the whole batch, and DistributedDataParallel averages the gradients while the
backward pass is still running. So the weights stay equal on all ranks. Rank 0 reads and writes the checkpoints.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops.across_ranks import TRAFFIC, Shares, sharing
from nmrgcl.settings import TrainSettings
from nmrgcl.train.checkpoint import Checkpoint, Memory
from nmrgcl.train.progress import Progress
from nmrgcl.train.trainable import Fittable, Trainable

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """The processes that share a training; this one is ``rank`` of ``count``. ``group`` is None for all of them.

    ``restarted`` says that torchrun has started them before, so that they should resume.
    """

    rank: int = 0
    count: int = 1
    group: Any = None
    restarted: bool = False

    @property
    def several(self) -> bool:
        """Whether there are other ranks."""
        return self.count > 1

    @property
    def is_first(self) -> bool:
        """Whether this rank reads, writes and reports for all."""
        return self.rank == 0

    def own(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """This rank's part of each batch; parts differ by one graph at most."""
        return [part.tensor_split(self.count)[self.rank] for part in parts] if self.several else list(parts)

    def sharing(self, size: int) -> AbstractContextManager[None]:
        """Inside, this rank computes on its part of a batch of ``size`` graphs."""
        if not self.several:
            return sharing(None)
        least, more = divmod(size, self.count)
        return sharing(Shares(self.rank, tuple(least + (rank < more) for rank in range(self.count)), self.group))

    def from_first(self, value: Value) -> Value:
        """The ``value`` of rank 0."""
        if not self.several:
            return value
        box = [value if self.is_first else None]
        dist.broadcast_object_list(box, group=self.group, group_src=0)
        return box[0]  # type: ignore[return-value]

    def largest(self, value: int) -> int:
        """The largest ``value`` of any rank, which the host waits for."""
        if not self.several:
            return value
        number = torch.tensor(value)
        dist.all_reduce(number, dist.ReduceOp.MAX, group=self.group)
        return int(number)

    def require_same(self, facts: Mapping[str, Any]) -> None:
        """Raise SettingError if some rank was started with other ``facts``."""
        if not self.several:
            return
        found: list[Any] = [None] * self.count
        dist.all_gather_object(found, dict(facts), group=self.group)
        for rank, others in enumerate(found):
            for name, value in found[0].items():
                if others.get(name) != value:
                    raise SettingError(
                        f"rank {rank} has {name} = {others.get(name)!r}, rank 0 has {value!r}; start all ranks with "
                        "the same command, data and versions"
                    )

    def require_possible(self, method: Trainable | Fittable, items: int, options: TrainSettings) -> None:
        """Refuse what several ranks cannot train together; ``items`` is the number of graphs, or of nodes of one."""
        if not self.several or (isinstance(method, Trainable) and not options.epochs):
            return
        name = type(method).__module__.rpartition(".")[2]
        if isinstance(method, Fittable):
            raise SettingError(f"method {name} fits all graphs at once and cannot use {self.count} ranks; start one")
        if method.level == "node" and options.sampling == "none":
            raise SettingError(
                f"every batch is the whole graph, which {self.count} ranks cannot divide; start one rank, or train on "
                "samples (train.sampling=walk)"
            )
        if not method.ACROSS_RANKS:
            raise SettingError(
                f"method {name} does not say that its loss can be divided among ranks (ACROSS_RANKS); start one rank"
            )
        if any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in method.modules()):
            raise SettingError(
                f"the encoder has a batch norm of PyTorch, which {self.count} ranks would compute apart; start one rank"
            )
        self._require_items(items, options.batch_size, f"{method.level}s")

    def _require_items(self, items: int, batch_size: int, what: str) -> None:
        for size, where in ((items, "the dataset"), (batch_size, "a batch (train.batch_size)")):
            if size < self.count:
                raise SettingError(
                    f"there are {self.count} ranks, but only {size} {what} in {where}; start fewer ranks"
                )
        rest = items % batch_size
        if 1 < rest < self.count:  # A rest of one is left out anyway.
            raise SettingError(
                f"there are {self.count} ranks, but only {rest} {what} in the last batch of an epoch ({items:,} in "
                f"batches of {batch_size}); change train.batch_size or start {rest} ranks"
            )


_ranks = Ranks()


def current_ranks() -> Ranks:
    """The ranks that this process trains with; one, unless ``joined``."""
    return _ranks


@contextmanager
def joined(ranks: Ranks) -> Iterator[None]:
    """Inside, trainings are shared with the other ``ranks``; the process group must exist."""
    global _ranks
    before, _ranks = _ranks, ranks
    try:
        yield
    finally:
        _ranks = before


class Stopping(Protocol):
    """Whether a signal has asked this rank to stop."""

    received: int | None

    def obey(self) -> None:
        """Raise an exception if it has."""
        ...


class SharedMemory:
    """The checkpoints of all ranks: rank 0 reads and writes them in its ``own`` memory.

    A signal to any rank makes one due, after which that rank stops, and the others with it.
    """

    def __init__(self, ranks: Ranks, own: Memory | None, signals: Stopping) -> None:
        self.ranks, self.own, self.signals = ranks, own, signals

    def recall(self) -> Checkpoint | None:
        """The checkpoint that rank 0 has found."""
        return self.ranks.from_first(self.own.recall() if self.own else None)

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether some rank wants a checkpoint now; all ranks get the same answer."""
        due = self.own is not None and self.own.due(epoch_ended=epoch_ended)
        wanted = due or self.signals.received is not None
        return bool(self.ranks.largest(int(wanted)))

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Let rank 0 store the checkpoint."""
        if self.own is not None:
            self.own.keep(step, checkpoint)
        self.signals.obey()


class ReducedLosses:
    """The losses of a method, whose backward passes also average the gradients of all parameters over the ranks.

    DistributedDataParallel starts to reduce a bucket of gradients as soon as they are known. It looks for parameters
    that a loss does not reach in every step, because the losses of several players reach different ones. This also
    keeps the buckets, and so the order of every sum, the same from the first step on.
    """

    def __init__(self, method: Trainable, ranks: Ranks) -> None:
        self.turn = _Turn(method)
        # Buffers are equal on all ranks already. PyTorch 2.13 has renamed the option that sends them in every step.
        parallel = nn.parallel.DistributedDataParallel
        new = "forward_sync_buffers" in signature(parallel).parameters
        unsent: dict[str, Any] = {"forward_sync_buffers" if new else "broadcast_buffers": False}
        self.parallel = parallel(self.turn, process_group=ranks.group, find_unused_parameters=True, **unsent)
        self.parallel.register_comm_hook(ranks.group, _reduce)

    def __call__(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Yield what ``method.losses(graphs, progress)`` yields."""
        self.turn.begin(graphs, progress)
        while True:
            try:
                loss = self.parallel()
            except StopIteration:
                return
            yield loss


class _Turn(nn.Module):
    """A module whose forward pass computes the next loss of a method."""

    def __init__(self, method: Trainable) -> None:
        super().__init__()
        self.method = method

    def begin(self, graphs: Graphs, progress: Progress) -> None:
        self.losses = self.method.losses(graphs, progress)

    def forward(self) -> Tensor:
        return next(self.losses)


def _reduce(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """Average a bucket of gradients over the ranks."""
    gradients = bucket.buffer()
    TRAFFIC["gradients"] += gradients.nbytes
    gradients.div_(dist.get_world_size(group))
    work = dist.all_reduce(gradients, group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])
