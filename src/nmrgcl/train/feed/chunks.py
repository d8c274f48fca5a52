"""One chunk of graphs on the device at a time, for datasets that do not fit.

A thread reads the next chunk while the current one is trained on. Every chunk is stored at the same addresses, so that
a step recorded on one chunk can be replayed on all of them.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs, Room
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.feed import Feed
from nmrgcl.train.feed.order import batches, largest_chunk
from nmrgcl.train.feed.source import Source


class Chunks(Feed):
    """Keeps the ``chunk`` graphs of the next batches on the device; ``chunk`` is a multiple of the batch size."""

    padded = True

    def __init__(self, source: Source, device: torch.device, chunk: int, batch_size: int) -> None:
        self.source, self.device, self.chunk, self.batch_size = source, device, chunk, batch_size
        self.items, self.batches = len(source), chunk // batch_size
        nodes, edges = (largest_chunk(sizes, chunk) for sizes in source.sizes())
        # Taking no graphs shows which tensors there are, and of what types.
        like, extent = source.take(torch.arange(0)), BufferSizes(chunk, nodes, edges)
        self.lane = (_GPULane if device.type == "cuda" else _HostLane)(like, extent, device)
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="chunks")
        self.parts: list[Tensor] = []
        self.number = -1
        self.coming: Future[tuple[Tensor, Graphs]] | None = None

    def cut(self) -> list[Tensor]:
        """Random batches, each of graphs of one chunk."""
        return batches(self.items, self.batch_size, self.chunk)

    def begin(self, parts: list[Tensor], position: int) -> None:
        """Start an epoch by reading the chunk of its first batch."""
        if self.coming is not None:  # Finish reading a chunk of the previous epoch that was never used.
            self.coming.result()
        self.parts, self.number, self.coming = parts, -1, None
        # An epoch interrupted after its last batch has none left, but a step may still be recorded on one.
        self.batch(min(position, len(parts) - 1))

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """The chunk of the batch, for which the host may have to wait, and the indices in it."""
        number = position // self.batches
        if number != self.number:
            self.ids, sent = (self.coming or self._ask(number)).result()
            self.graphs, self.number = self.lane.receive(sent), number
            self.coming = self._ask(number + 1) if (number + 1) * self.batches < len(self.parts) else None
        return self.graphs, torch.searchsorted(self.ids, self.parts[position])

    def lasting(self) -> Graphs:
        """The buffers that every chunk is copied to."""
        if self.coming is not None:  # No copy may be under way while a step is recorded on these tensors.
            self.coming.result()
        return self.lane.place.whole.sized_like(self.graphs)

    def room(self, batch_size: int) -> Room:
        """Room for batches of any chunk."""
        return Room.for_batches(*self.source.sizes(), batch_size)

    def close(self) -> None:
        """Stop the reader thread."""
        self.reader.shutdown(cancel_futures=True)

    def _ask(self, number: int) -> Future[tuple[Tensor, Graphs]]:
        return self.reader.submit(self._read, self.parts[number * self.batches : (number + 1) * self.batches])

    def _read(self, parts: list[Tensor]) -> tuple[Tensor, Graphs]:
        """The indices of the graphs in some batches, in the order of the source, and these graphs."""
        # In the order of the source, so that it is read forwards and block by block.
        ids = torch.cat(parts).sort().values
        return ids, self.lane.send(self.source, ids)


class _HostLane:
    """Two buffers in host memory: one is filled while the other is trained on."""

    def __init__(self, like: Graphs, extent: BufferSizes, device: torch.device) -> None:
        self.next, self.place = (Buffers(like, extent, device) for _ in range(2))

    def send(self, source: Source, index: Tensor) -> Graphs:
        """Read graphs; called in the reader thread."""
        return self.next.fill(source, index)

    def receive(self, sent: Graphs) -> Graphs:
        """The graphs that were sent last; called in the training thread."""
        self.next, self.place = self.place, self.next
        return sent


class _GPULane:
    """Copies chunks to a GPU during training: pinned memory, a separate stream, and two buffers on the device.

    Copies arrive in ``landed``; ``receive`` then copies them to ``place``, where the training reads them, because
    recorded steps need fixed addresses.
    """

    def __init__(self, like: Graphs, extent: BufferSizes, device: torch.device) -> None:
        self.pinned = Buffers(like, extent, torch.device("cpu"), pinned=True)
        self.landed, self.place = (Buffers(like, extent, device) for _ in range(2))
        self.stream = torch.cuda.Stream(device)
        self.sent, self.received = torch.cuda.Event(), torch.cuda.Event()
        self.received.record()

    def send(self, source: Source, index: Tensor) -> Graphs:
        """Read graphs and copy them to ``landed``; called in the reader thread."""
        self.sent.synchronize()  # Wait until the previous copy no longer reads the pinned memory.
        graphs = self.pinned.fill(source, index)
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.received)  # Wait until `landed` has been copied to `place`.
            self.landed.put(graphs)
            self.sent.record()
        # The host reads the sizes later, when the pinned memory already holds the next chunk.
        sized = replace(graphs, node_ptr=graphs.node_ptr.clone())
        return self.landed.part(BufferSizes.of(graphs)).sized_like(sized)

    def receive(self, sent: Graphs) -> Graphs:
        """Replace the previous chunk by the one in ``landed``; called in the training thread, which does not wait."""
        torch.cuda.current_stream().wait_event(self.sent)
        self.place.put(sent)
        self.received.record()
        return self.place.part(BufferSizes.of(sent)).sized_like(sent)
