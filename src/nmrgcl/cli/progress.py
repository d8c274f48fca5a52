"""Show training progress on standard error: a bar on a terminal, otherwise plain lines."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence

from nmrgcl.cli.terminal import bar_console
from nmrgcl.duration import duration
from nmrgcl.run.pretrain import SeedEpoch, SeedWatch
from nmrgcl.train import Progress

EVERY = 60.0
"""Seconds between lines within a long epoch."""
REDRAW = 0.1
"""Seconds between updates of the bar, because a GPU takes thousands of steps per second."""
StartRun = Callable[[SeedWatch | None], Iterator[SeedEpoch]]
"""Starts a run, which reports its batches to a ``SeedWatch``."""


def show_epochs(
    start: StartRun, *, seeds: Sequence[int], title: str, items: str = "graphs", quiet: bool = False
) -> dict[int, SeedEpoch]:
    """Follow a run to its end and return the last epoch of each seed; ``items`` names what it trains on."""
    follow = _silently if quiet else _bar if sys.stderr.isatty() else _lines
    last: dict[int, SeedEpoch] = {}
    for step in follow(start, Pace(seeds), title, items):
        last[step.seed] = step
        if step.warning and not quiet:
            print(f"{title}, seed {step.seed}, epoch {step.epoch.number}: {step.warning}", file=sys.stderr, flush=True)
    return last


class Pace:
    """Progress, speed and remaining time of a run of several seeds, measured from its first batch."""

    def __init__(self, seeds: Sequence[int], clock: Callable[[], float] = time.monotonic) -> None:
        self.seeds, self.clock = list(seeds), clock
        self.began: float | None = None
        self.first = self.done = self.total = self.items = 0
        self.seconds = 0.0

    def note(self, seed: int, progress: Progress, items: int) -> None:
        """Record a batch; steps before the first recorded one belong to an earlier, resumed run."""
        self.done = self.seeds.index(seed) * progress.steps + progress.step
        self.total = len(self.seeds) * progress.steps
        if self.began is None:
            self.began, self.first = self.clock(), self.done
            return
        self.items += items
        self.seconds = self.clock() - self.began

    @property
    def rate(self) -> float:
        """Graphs or nodes per second."""
        return self.items / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float | None:
        """Estimated seconds until all seeds are trained; None if there is no estimate yet."""
        taken = self.done - self.first
        return (self.total - self.done) * self.seconds / taken if taken > 0 and self.seconds else None


def _silently(start: StartRun, pace: Pace, title: str, items: str) -> Iterator[SeedEpoch]:
    return start(None)


def _lines(start: StartRun, pace: Pace, title: str, items: str) -> Iterator[SeedEpoch]:
    told = time.monotonic()

    def watch(seed: int, progress: Progress, count: int) -> None:
        nonlocal told
        pace.note(seed, progress, count)
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            print(f"{title}, seed {seed}, {describe(progress, pace, items)}", file=sys.stderr, flush=True)

    waiting: SeedEpoch | None = None
    for step in start(watch):
        # In a log, only the first and the last epoch of a seed get a line.
        if waiting is not None and waiting.seed != step.seed:
            _print(title, waiting, items)
        waiting = step
        if step.effective_rank is not None and step.epoch.number == 1:
            _print(title, step, items)
            waiting = None
        yield step
    if waiting is not None:
        _print(title, waiting, items)


def describe(progress: Progress, pace: Pace, items: str) -> str:
    """Describe the progress of a seed, and the speed and remaining time of the run."""
    left = "" if pace.left is None else f", {duration(pace.left)} left"
    return f"step {progress.step:,} of {progress.steps:,}, {pace.rate:,.0f} {items}/s{left}"


def _print(title: str, step: SeedEpoch, items: str) -> None:
    rank = "" if step.effective_rank is None else f", effective rank {step.effective_rank:.1f}"
    speed = f"{step.epoch.graphs_per_second:,.0f} {items}/s"
    sent = sum(step.epoch.bytes_per_step.values())
    exchange = f", {sent:,} bytes per step and rank" if sent else ""
    print(f"{title}, seed {step.seed}, {_describe(step)}, {speed}{rank}{exchange}", file=sys.stderr, flush=True)


def _describe(step: SeedEpoch) -> str:
    return f"epoch {step.epoch.number}: loss {step.epoch.loss:.4f}"


def _bar(start: StartRun, pace: Pace, title: str, items: str) -> Iterator[SeedEpoch]:
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[state]}"))
    with Bar(*columns, console=bar_console()) as bar:
        task = bar.add_task(escape(title), total=None, state="")
        drawn, last = 0.0, ""

        def draw(seed: int) -> None:
            state = f"seed {seed}{last}, {pace.rate:,.0f} {items}/s"
            bar.update(task, total=pace.total or None, completed=pace.done, state=state)

        def watch(seed: int, progress: Progress, count: int) -> None:
            nonlocal drawn
            pace.note(seed, progress, count)
            if time.monotonic() - drawn >= REDRAW:
                drawn = time.monotonic()
                draw(seed)

        for step in start(watch):
            last = f", {_describe(step)}"
            draw(step.seed)
            yield step
