"""The pre-training loop for all methods: a generator that yields after each epoch."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import has_triton
from nmrgcl.ops.across_ranks import TRAFFIC
from nmrgcl.settings import TrainSettings
from nmrgcl.train.checkpoint import Memory
from nmrgcl.train.distributed import Ranks, current_ranks
from nmrgcl.train.feed import Feed, Source, count_items, open_feed, wanted_chunk
from nmrgcl.train.precision import matrix_precision
from nmrgcl.train.progress import StepWatch
from nmrgcl.train.recording import CapturedStep, Recording, captured_by_size, recorded_if_possible
from nmrgcl.train.state import TrainingState, own_chance, restore, seed_generators, snapshot
from nmrgcl.train.step import GuardedStep
from nmrgcl.train.trainable import Fittable, Trainable

Share = Callable[[int], AbstractContextManager[None]]
"""Given the number of a batch, a context in which this rank computes on its part of it."""


@dataclass(frozen=True)
class Epoch:
    """Summary of one pass over the data; at node level, the speed is in nodes per second.

    The ``last`` epoch of a training may be cut short by a limit on the number of steps. With several ranks,
    ``bytes_per_step`` says how many bytes this rank has handed to collective operations, by what they are.

    Example:
        >>> from nmrgcl import Epoch
        >>> Epoch(number=3, loss=1.5, seconds=0.5, graphs_per_second=376.0).loss
        1.5
    """

    number: int
    loss: float
    seconds: float
    graphs_per_second: float
    last: bool = False
    bytes_per_step: dict[str, int] = field(default_factory=dict)


def pretrain(
    method: Trainable | Fittable,
    graphs: Graphs | Source,
    options: TrainSettings,
    *,
    device: torch.device | None = None,
    seed: int = 0,
    memory: Memory | None = None,
    watch: StepWatch | None = None,
) -> Iterator[Epoch]:
    """Train ``method`` in place and yield after each epoch; stop iterating to stop training.

    Random numbers depend only on ``seed`` and the number of the epoch: the caller's use of random generators between
    epochs neither affects training nor is affected by it. If ``memory`` recalls a checkpoint, training continues from
    there, even in the middle of an epoch, exactly as if it had never stopped.

    ``device`` is the device of the method; the default is the device of the graphs. Graphs that do not fit on it are
    trained on in chunks, as ``options.chunk_graphs`` says. A ``Fittable`` fits all graphs at once, without epochs.
    ``watch`` is called after every batch; on a GPU the batch has then been launched but not necessarily computed.

    With several ranks (``nmrgcl.train.distributed``), all of them call this with the same arguments. Random numbers
    then also depend on the number of the batch and on the rank.

    Example:
        >>> from nmrgcl import apply_features, build_method, choose_features, load, pretrain, resolve
        >>> mutag = load("MUTAG")
        >>> graphs = apply_features(mutag, choose_features(mutag))
        >>> settings = resolve("nmrgcl", preset="graphcl", assignments={"epochs": 2})
        >>> method = build_method(settings, graphs.num_features)
        >>> [epoch.number for epoch in pretrain(method, graphs, settings.train, seed=0)]
        [1, 2]
    """
    ranks = current_ranks()
    ranks.require_possible(method, count_items(graphs, method.level), options)
    if isinstance(method, Fittable):
        _fit(method, graphs, device, seed)
        return
    if options.epochs == 0:
        return
    method.require_sizes(*graphs.sizes())
    device = device or (graphs.device if isinstance(graphs, Graphs) else torch.device("cpu"))
    optimisers = method.optimisers(options)
    checkpoint = memory.recall() if memory else None
    state = (restore(checkpoint, method, optimisers) if checkpoint else TrainingState()).to(device)
    step = GuardedStep(method, optimisers, state, ranks if ranks.several else None)
    # The order of batches depends on the chunk size, so a resumed training keeps the one it started with.
    chunk = state.chunk if checkpoint else options.chunk_graphs or None
    if (
        chunk is None and ranks.several and method.level == "graph"
    ):  # Ranks with much memory follow the one with the least.
        chunk = ranks.largest(wanted_chunk(graphs, device))
    with closing(open_feed(graphs, device, options, method.level, chunk)) as feed:
        state.chunk = feed.chunk
        for epoch in _epochs(step, feed, options, seed, memory, watch, ranks):
            yield epoch
            if memory and memory.due(epoch_ended=True):
                memory.keep(state.step, snapshot(state, method, optimisers, device))


def _fit(method: Fittable, graphs: Graphs | Source, device: torch.device | None, seed: int) -> None:
    whole = graphs if isinstance(graphs, Graphs) else graphs.take(torch.arange(len(graphs)))
    whole = whole.to(device) if device else whole
    with own_chance(seed, 0, whole.device):
        method.fit(whole)


def _epochs(
    step: GuardedStep,
    feed: Feed,
    options: TrainSettings,
    seed: int,
    memory: Memory | None,
    watch: StepWatch | None,
    ranks: Ranks,
) -> Iterator[Epoch]:
    """Run epochs until there are enough of them or the loss no longer falls."""
    state, compute = step.state, None
    while not _ended(state, options):
        began, first = time.perf_counter(), state.step
        step.method.train()
        with own_chance(seed, state.epoch + 1, feed.device), _numerics(options, feed.device):
            parts = feed.cut()
            if state.position > len(parts):
                raise ModelError(f"the checkpoint is at batch {state.position} of {len(parts)}; start the run again")
            share = partial(_shared, ranks, parts, (seed, state.epoch + 1), feed.device)
            if state.position == 0:
                with closing(_batches(feed, ranks.own(parts), share)) as batches:
                    step.survey(options, batches, len(parts))
            feed.begin(ranks.own(parts), state.position)
            # A step is recorded on the feed's tensors, which hold graphs only once an epoch has begun.
            compute = compute or _computing(step, feed, options)
            if ranks.several:  # What happens once per epoch draws alike on all ranks, and every batch anew.
                seed_generators([seed, state.epoch + 1], feed.device)
            else:
                state.recall_chance(feed.device)
            TRAFFIC.clear()
            loss = _run_epoch(step, compute, feed, parts, share, options, memory, watch)
        step.method.train(False)
        state.end_epoch(loss, options.least_gain)
        seconds = time.perf_counter() - began
        done = feed.items * (state.step - first) / len(parts)
        sent = {what: total // max(state.step - first, 1) for what, total in TRAFFIC.items()}
        yield Epoch(state.epoch, loss, seconds, done / seconds, _ended(state, options), sent)


def _ended(state: TrainingState, options: TrainSettings) -> bool:
    """Whether there were enough batches or epochs, or the loss no longer falls."""
    if state.position:  # An interrupted epoch must be completed, even if its last batch is done.
        return False
    enough = state.step >= options.steps if options.steps else state.epoch >= options.epochs
    return enough or bool(options.patience and state.idle_epochs >= options.patience)


def _batches(feed: Feed, parts: list[Tensor], share: Share) -> Generator[Graphs]:
    """The batches of an epoch; nothing is read before the first one is requested."""
    feed.begin(parts, 0)
    for position in range(len(parts)):
        with share(position):
            yield feed.take(*feed.batch(position))


@contextmanager
def _shared(
    ranks: Ranks, parts: list[Tensor], seeds: tuple[int, int], device: torch.device, position: int
) -> Iterator[None]:
    """Inside, this rank computes on its part of the batch ``parts[position]``, with random numbers of its own.

    They do not depend on earlier batches, so that a checkpoint need not hold the state of every rank's generators.
    """
    if not ranks.several:
        yield
        return
    seed_generators([*seeds, position, ranks.rank], device)
    with ranks.sharing(len(parts[position])):
        yield


def _run_epoch(
    step: GuardedStep,
    compute: Callable[[Graphs, Tensor], None],
    feed: Feed,
    parts: list[Tensor],
    share: Share,
    options: TrainSettings,
    memory: Memory | None,
    watch: StepWatch | None,
) -> float:
    """Train on the remaining batches of the epoch, or up to the step limit, and return their mean loss.

    ``parts`` are the whole batches, of which the feed has this rank's part.
    """
    state, count = step.state, len(parts)
    step.begin_epoch(options, count)
    items = feed.items // count
    if options.steps:
        count = min(count, state.position + options.steps - state.step)
    for position in range(state.position, count):
        step.begin_batch()
        with share(position):
            compute(*feed.batch(position))
        state.position, state.step = position + 1, state.step + 1
        if watch is not None:
            watch(replace(step.progress, step=state.step), items)
        due = memory is not None and memory.due(epoch_ended=False)
        if due or feed.device.type == "cpu" or position + 1 == count:  # On a GPU, each check waits for the device.
            step.check(parts, options)
        if memory is not None and due:
            memory.keep(state.step, snapshot(state, step.method, step.optimisers, feed.device))
    return state.mean_loss


def _computing(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """The function that trains on a batch: on a GPU a recorded step, unless the method or the options rule it out.

    Several ranks do not record: their parts of a batch, and so the shapes of what they exchange, differ in size.
    """

    def ordinary(graphs: Graphs, index: Tensor) -> None:
        step(feed.take(graphs, index))

    if not (options.capture and step.method.capturable) or not (feed.padded or feed.constant):
        return ordinary
    if feed.device.type != "cuda" or step.reduced:
        return ordinary
    step.rehearse()
    return recorded_if_possible(lambda: _recorded(step, feed, options)) or ordinary


def _recorded(step: GuardedStep, feed: Feed, options: TrainSettings) -> Callable[[Graphs, Tensor], None]:
    """One recording for full batches and one for the remainder, or a single one if every batch is the whole graph."""
    changed = [*step.method.state_dict().values(), *step.state.sums]
    if feed.constant:
        recording = Recording(lambda: step(feed.lasting()), changed, feed.device)
        return lambda graphs, index: recording.replay()
    # A last batch of one graph is never trained on (feed.order), so it needs no recording.
    sizes = {min(options.batch_size, feed.items), feed.items % options.batch_size} - {0, 1}
    prepare = _compile_together if type(step.method).__module__.startswith("nmrgcl.") else None
    recorded = captured_by_size(
        sizes, lambda size, beside: CapturedStep(feed.lasting(), size, step, changed, feed.room(size), beside, prepare)
    )
    return lambda graphs, index: recorded[len(index)](index, graphs)


def _compile_together(work: Callable[[], None]) -> None:
    """Compile the kernels of a step in parallel; for methods of the package, which keep nothing between batches."""
    if has_triton():
        from nmrgcl.ops.triton.compiling import compile_together

        with suppress(RuntimeError, IndexError):  # it is only faster: without it, each launch compiles its own kernel
            compile_together(work)


@contextmanager
def _numerics(options: TrainSettings, device: torch.device) -> Iterator[None]:
    """Set precision and determinism for the steps of one epoch, and restore the previous choices afterwards."""
    strict = torch.are_deterministic_algorithms_enabled()
    if options.deterministic and not strict:  # torch.use_deterministic_algorithms also imports torch.compile's parts
        torch.use_deterministic_algorithms(True)
    try:
        with matrix_precision(options.precision, device):
            yield
    finally:
        if options.deterministic and not strict:
            torch.use_deterministic_algorithms(False)
