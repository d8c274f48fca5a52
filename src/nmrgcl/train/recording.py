"""Training steps as CUDA graphs: recorded once, then replayed with new batches and new random numbers.

A step of a small model takes microseconds of arithmetic but milliseconds of kernel launches; a replay is one launch.
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
"""If the device has fewer free bytes than this, the allocator's cache is emptied before recording."""
_REHEARSALS = 3
"""Warm-up steps before the recording, in which libraries choose algorithms and allocate workspaces."""


class Recording:
    """A recording of ``work`` as a CUDA graph.

    Args:
        work: must not synchronise with the host, must read its input from fixed addresses and update state in place.
        changed: the tensors that it modifies; they are restored after the warm-up.
        device: the device it runs on.
        beside: a recording that never runs at the same time, so that the two can share memory.
        prepare: called with ``work`` before the warm-up; what it changes is restored too.
    """

    def __init__(
        self,
        work: Callable[[], None],
        changed: Iterable[Tensor],
        device: torch.device,
        beside: "Recording | None" = None,
        prepare: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.recorded = torch.cuda.CUDAGraph()
        self.work = work  # Keeps alive the tensors that a replay reads; otherwise their memory would be reused.
        changed_tensors = list(changed)
        # The warm-up trains like any other steps, so weights and statistics have to be put back.
        before = [tensor.detach().clone() for tensor in changed_tensors]
        chance = torch.cuda.get_rng_state(device)
        try:
            if prepare is not None:
                prepare(work)
            _rehearse(work)
            with _recording(self.recorded, device, beside):
                work()
        finally:  # Undo the warm-up; recording itself computes nothing.
            with torch.no_grad():
                for tensor, value in zip(changed_tensors, before, strict=True):
                    tensor.copy_(value)
            torch.cuda.set_rng_state(chance, device)

    def replay(self) -> None:
        """Run the recorded work on the current content of its input tensors."""
        self.recorded.replay()


@contextmanager
def _recording(graph: torch.cuda.CUDAGraph, device: torch.device, beside: "Recording | None") -> Iterator[None]:
    """Record all launches in the block into ``graph``; if that fails, the device remains usable."""
    before, collecting = torch.cuda.current_stream(device), gc.isenabled()
    own = torch.cuda.Stream(device)
    # The garbage collector might destroy an old recording, which is not allowed while another one is being made.
    gc.disable()
    try:
        # This follows torch.cuda.graph, which also collects garbage and empties the allocator's cache every time. A
        # recording cannot use the cached memory, so the cache is emptied here, but only if little other memory is left.
        torch.cuda.synchronize(device)
        if torch.cuda.mem_get_info(device)[0] < _LITTLE:
            torch.cuda.empty_cache()
        with torch.cuda.stream(own):
            graph.capture_begin(*(() if beside is None else (beside.recorded.pool(),)))
            try:
                yield
            except BaseException:
                with suppress(RuntimeError):  # The original error is more informative.
                    graph.capture_end()
                raise
            graph.capture_end()
    except BaseException:
        # Otherwise later work would still go to the recording's stream, and every random draw would fail, because the
        # generator would remain in capture mode.
        torch.cuda.set_stream(before)
        index = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[index].graphsafe_set_state(torch.Generator(device))
        raise
    finally:
        if collecting:
            gc.enable()


def _rehearse(work: Callable[[], None]) -> None:
    # On a side stream, as PyTorch's notes on CUDA graphs ask, since libraries set up workspaces for each stream.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_REHEARSALS):
            work()
    torch.cuda.current_stream().wait_stream(stream)


class CapturedStep:
    """A recording of ``step(batch)`` for batches of ``batch_size`` graphs of any sizes.

    The step must not synchronise with the host and must update its state in place. Batches are padded to a common
    size, the ``room``; a batch that does not fit is computed without the recording.

    Args:
        graphs: the dataset, or a chunk of it whose tensors later chunks will overwrite.
        batch_size: the number of graphs per batch.
        step: the step to record.
        changed: the tensors that the step modifies; they are restored after the warm-up.
        room: the size to pad batches to; None: enough for batches of ``graphs``.
        beside: a recording that never runs at the same time, so that the two can share memory.
        prepare: as for ``Recording``.
    """

    def __init__(
        self,
        graphs: Graphs,
        batch_size: int,
        step: Callable[[Graphs], None],
        changed: Iterable[Tensor],
        room: Room | None = None,
        beside: "CapturedStep | None" = None,
        prepare: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.graphs, self.step, self.room = graphs, step, room or graphs.room_for(batch_size)
        # The recording reads the numbers of a batch's graphs from this address; a replay only changes the content.
        self.index = torch.zeros(batch_size, dtype=torch.long, device=graphs.device)
        self.index.copy_(self._typical(batch_size))
        self.recorded: Recording = Recording(
            lambda: step(graphs.take_padded(self.index, self.room)),
            changed,
            graphs.device,
            beside.recorded if beside else None,
            prepare,
        )

    def __call__(self, index: Tensor, graphs: Graphs | None = None) -> None:
        """Train on ``graphs[index]`` (``index`` on the host); ``graphs`` must be at the recorded addresses."""
        graphs = graphs or self.graphs
        if graphs.fits(index, self.room):
            self.index.copy_(index, non_blocking=True)
            self.recorded.replay()
        else:
            # Rare, as the room suffices for practically every random batch.
            self.step(graphs.take(index))

    def _typical(self, batch_size: int) -> Tensor:
        """A batch for the warm-up that fits into the room: evenly spaced graphs, as data may be sorted by size."""
        nodes, edges = self.graphs.sizes()
        index = torch.linspace(0, len(nodes) - 1, batch_size).long()
        return index if self.graphs.fits(index, self.room) else (nodes + edges).argmin().expand(batch_size)


def captured_by_size(
    sizes: Iterable[int], make: "Callable[[int, CapturedStep | None], CapturedStep]"
) -> dict[int, CapturedStep]:
    """``make(size, beside)`` for each size, the largest first, so that the others can share its memory."""
    made: dict[int, CapturedStep] = {}
    for size in sorted(sizes, reverse=True):
        made[size] = make(size, next(iter(made.values()), None))
    return made


def recorded_if_possible(record: Callable[[], Step]) -> Step | None:
    """The result of ``record``; None, with a warning, if the step synchronises with the host and cannot be recorded."""
    try:
        return record()
    except torch.OutOfMemoryError:
        raise  # Without a recording, memory would not suffice either.
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        warnings.warn(f"steps are not recorded ({reason}); train.capture=false avoids this warning", stacklevel=3)
        return None
