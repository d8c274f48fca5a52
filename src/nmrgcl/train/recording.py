"""A training step as a CUDA graph: recorded once, replayed with new batches and new chance.

On a GPU a step of a small model is microseconds of arithmetic and milliseconds of launches; a replay is one launch.
"""

import gc
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs, Room

Step = TypeVar("Step")
_LITTLE = 2**31
"""Bytes of a device's memory that are little."""
_REHEARSALS = 3
"""Steps before the recording: libraries choose their algorithms and allocate in the first ones."""


class Recording:
    """``work`` as a CUDA graph, to be replayed.

    Args:
        work: must not wait for the host, must find its input in one place and update what it keeps in place.
        changed: tensors that it changes; they are restored after rehearsing.
        device: where it computes.
        beside: a recording that is never replayed at the same time, and whose memory this one may use.
    """

    def __init__(
        self,
        work: Callable[[], None],
        changed: Iterable[Tensor],
        device: torch.device,
        beside: "Recording | None" = None,
    ) -> None:
        self.recorded = torch.cuda.CUDAGraph()
        self.work = work  # holds the tensors that a replay reads: freed, their memory would be given to others
        changed_tensors = list(changed)
        before = [tensor.detach().clone() for tensor in changed_tensors]
        chance = torch.cuda.get_rng_state(device)
        try:
            _rehearse(work)
            with _recording(self.recorded, device, beside):
                work()
        finally:  # the rehearsals are forgotten; recording itself computes nothing
            with torch.no_grad():
                for tensor, value in zip(changed_tensors, before, strict=True):
                    tensor.copy_(value)
            torch.cuda.set_rng_state(chance, device)

    def replay(self) -> None:
        """Once more, with whatever lies in its places now."""
        self.recorded.replay()


@contextmanager
def _recording(graph: torch.cuda.CUDAGraph, device: torch.device, beside: "Recording | None") -> Iterator[None]:
    """What is launched goes into ``graph``; where that fails, the device is as usable as before."""
    before, collecting = torch.cuda.current_stream(device), gc.isenabled()
    own = torch.cuda.Stream(device)
    # Whenever the collector finds an old recording, it is destroyed, which is not allowed while another one is made.
    gc.disable()
    try:
        # As torch.cuda.graph does, but without collecting garbage before every recording, and emptying the cache, whose
        # memory a recording cannot use, only where little else is left.
        torch.cuda.synchronize(device)
        if torch.cuda.mem_get_info(device)[0] < _LITTLE:
            torch.cuda.empty_cache()
        with torch.cuda.stream(own):
            graph.capture_begin(*(() if beside is None else (beside.recorded.pool(),)))
            try:
                yield
            except BaseException:
                with suppress(RuntimeError):  # what went wrong is known already
                    graph.capture_end()
                raise
            graph.capture_end()
    except BaseException:
        # Left as it is, all would go on into the stream of the recording, and every draw of chance would fail.
        torch.cuda.set_stream(before)
        index = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[index].graphsafe_set_state(torch.Generator(device))
        raise
    finally:
        if collecting:
            gc.enable()


def _rehearse(work: Callable[[], None]) -> None:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_REHEARSALS):
            work()
    torch.cuda.current_stream().wait_stream(stream)


class CapturedStep:
    """``step(batch)`` for batches of ``batch_size`` graphs, whatever their sizes.

    The step must not wait for the host and must update what it keeps in place. Batches are padded to one size, the
    ``room``; one that does not fit is computed the ordinary way.

    Args:
        graphs: the dataset, or a part of it in a place where others will lie.
        batch_size: of every batch.
        step: what to record.
        changed: tensors that the step changes; they are restored after rehearsing.
        room: for a batch; None: as much as ``graphs`` need.
        beside: a recording that is never replayed at the same time, and whose memory this one may use.
    """

    def __init__(
        self,
        graphs: Graphs,
        batch_size: int,
        step: Callable[[Graphs], None],
        changed: Iterable[Tensor],
        room: Room | None = None,
        beside: "CapturedStep | None" = None,
    ) -> None:
        self.graphs, self.step, self.room = graphs, step, room or graphs.room_for(batch_size)
        self.index = torch.zeros(batch_size, dtype=torch.long, device=graphs.device)
        self.index.copy_(self._typical(batch_size))
        self.recorded: Recording = Recording(
            lambda: step(graphs.take_padded(self.index, self.room)),
            changed,
            graphs.device,
            beside.recorded if beside else None,
        )

    def __call__(self, index: Tensor, graphs: Graphs | None = None) -> None:
        """The batch that ``index`` (on the host) names among ``graphs``, which lie where those recorded lay."""
        graphs = graphs or self.graphs
        if graphs.fits(index, self.room):
            self.index.copy_(index, non_blocking=True)
            self.recorded.replay()
        else:
            self.step(graphs.take(index))

    def _typical(self, batch_size: int) -> Tensor:
        """A batch to rehearse with, which must fit: graphs from end to end, lest only the largest come first."""
        nodes, edges = self.graphs.sizes()
        index = torch.linspace(0, len(nodes) - 1, batch_size).long()
        return index if self.graphs.fits(index, self.room) else (nodes + edges).argmin().expand(batch_size)


def captured_by_size(
    sizes: Iterable[int], make: "Callable[[int, CapturedStep | None], CapturedStep]"
) -> dict[int, CapturedStep]:
    """``make(size, beside)`` for each size, the largest first: the others find room in its memory."""
    made: dict[int, CapturedStep] = {}
    for size in sorted(sizes, reverse=True):
        made[size] = make(size, next(iter(made.values()), None))
    return made


def recorded_if_possible(record: Callable[[], Step]) -> Step | None:
    """What ``record`` makes; None, with a warning, where a step waits for the host, which cannot be recorded."""
    try:
        return record()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        warnings.warn(f"steps are not recorded ({reason}); train.capture=false asks for that", stacklevel=3)
        return None
