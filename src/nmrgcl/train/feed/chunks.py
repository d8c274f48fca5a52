"""A chunk of graphs on the device at a time, where all of them would not fit.

The next chunk is read by a thread while this one trains. Every chunk lies at the same addresses, so that a step which
was recorded on one serves all of them.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs, Room
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.order import batches, largest_chunk
from nmrgcl.train.feed.source import Source


class Chunks:
    """The ``chunk`` graphs that make up the next batches, a multiple of the batch size."""

    padded, constant = True, False

    def __init__(self, source: Source, device: torch.device, chunk: int, batch_size: int) -> None:
        self.source, self.device, self.chunk, self.batch_size = source, device, chunk, batch_size
        self.items, self.batches = len(source), chunk // batch_size
        nodes, edges = (largest_chunk(sizes, chunk) for sizes in source.sizes())
        like, extent = source.take(torch.arange(0)), BufferSizes(chunk, nodes, edges)
        self.lane = (_GPULane if device.type == "cuda" else _HostLane)(like, extent, device)
        self.reader = ThreadPoolExecutor(1, thread_name_prefix="chunks")
        self.parts: list[Tensor] = []
        self.number = -1
        self.coming: Future[tuple[Tensor, Graphs]] | None = None

    def cut(self) -> list[Tensor]:
        """Draw the batches of an epoch, as numbers of graphs, on the host."""
        return batches(self.items, self.batch_size, self.chunk)

    def begin(self, parts: list[Tensor], position: int) -> None:
        """These are the batches of an epoch; it starts with the one at ``position``."""
        if self.coming is not None:  # of batches that nobody asked for in the end
            self.coming.result()
        self.parts, self.number, self.coming = parts, -1, None
        # An epoch that was interrupted after its last batch has none left, but a step may be recorded all the same.
        self.batch(min(position, len(parts) - 1))

    def batch(self, position: int) -> tuple[Graphs, Tensor]:
        """Graphs on the device and, on the host, the numbers among them of those that make up the batch."""
        number = position // self.batches
        if number != self.number:
            self.ids, sent = (self.coming or self._ask(number)).result()
            self.graphs, self.number = self.lane.receive(sent), number
            self.coming = self._ask(number + 1) if (number + 1) * self.batches < len(self.parts) else None
        return self.graphs, torch.searchsorted(self.ids, self.parts[position])

    def take(self, graphs: Graphs, index: Tensor) -> Graphs:
        """The graphs that ``index`` names."""
        return graphs.take(index)

    def lasting(self) -> Graphs:
        """Graphs whose tensors stay where they are for as long as the feed is open; no copy is under way."""
        if self.coming is not None:
            self.coming.result()
        return self.lane.place.whole.sized_like(self.graphs)

    def room(self, batch_size: int) -> Room:
        """For a padded batch of any graphs of the source."""
        return Room.for_batches(*self.source.sizes(), batch_size)

    def close(self) -> None:
        """End the reader, once what it reads is there."""
        self.reader.shutdown(cancel_futures=True)

    def _ask(self, number: int) -> Future[tuple[Tensor, Graphs]]:
        return self.reader.submit(self._read, self.parts[number * self.batches : (number + 1) * self.batches])

    def _read(self, parts: list[Tensor]) -> tuple[Tensor, Graphs]:
        """The graphs of some batches, in the order of the source, and their numbers there."""
        ids = torch.cat(parts).sort().values
        return ids, self.lane.send(self.source, ids)


class _HostLane:
    """Two places in the host's memory: one is filled while the other is trained on."""

    def __init__(self, like: Graphs, extent: BufferSizes, device: torch.device) -> None:
        self.next, self.place = (Buffers(like, extent, device) for _ in range(2))

    def send(self, source: Source, index: Tensor) -> Graphs:
        """Read graphs; in the reader's thread."""
        return self.next.fill(source, index)

    def receive(self, sent: Graphs) -> Graphs:
        """The graphs that were sent last; in the training's thread."""
        self.next, self.place = self.place, self.next
        return sent


class _GPULane:
    """The way to a GPU beside the training: pinned memory, a stream of its own, a place to land and one to train."""

    def __init__(self, like: Graphs, extent: BufferSizes, device: torch.device) -> None:
        self.pinned = Buffers(like, extent, torch.device("cpu"), pinned=True)
        self.landed, self.place = (Buffers(like, extent, device) for _ in range(2))
        self.stream = torch.cuda.Stream(device)
        self.sent, self.received = torch.cuda.Event(), torch.cuda.Event()
        self.received.record()

    def send(self, source: Source, index: Tensor) -> Graphs:
        """Read graphs and copy them to where they land; in the reader's thread."""
        self.sent.synchronize()  # pinned memory is free again
        graphs = self.pinned.fill(source, index)
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.received)  # so is the place to land
            self.landed.put(graphs)
            self.sent.record()
        sized = replace(graphs, node_ptr=graphs.node_ptr.clone())  # the host looks at them while pinned memory changes
        return self.landed.part(BufferSizes.of(graphs)).sized_like(sized)

    def receive(self, sent: Graphs) -> Graphs:
        """Put what has landed in place of the chunk before; in the training's thread, which does not wait."""
        torch.cuda.current_stream().wait_event(self.sent)
        self.place.put(sent)
        self.received.record()
        return self.place.part(BufferSizes.of(sent)).sized_like(sent)
