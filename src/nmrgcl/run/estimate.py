"""What a run would cost, measured on a few of its own steps."""

import resource
import statistics
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import choose_features
from nmrgcl.methods import build_method
from nmrgcl.run.device import suitable_threads
from nmrgcl.run.source import training_source
from nmrgcl.settings import Settings
from nmrgcl.train import Trainable
from nmrgcl.train.feed import open_feed
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep

STEPS = 4


@dataclass(frozen=True)
class Cost:
    """Seconds for all seeds and the most memory seen, both from ``STEPS`` real steps after a first one."""

    parameters: int
    steps: int
    seconds: float
    memory_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def estimate_cost(dataset: Dataset, settings: Settings, *, seeds: int, device: torch.device) -> Cost:
    """Train a few steps on a method that is then thrown away; nothing is written."""
    features = choose_features(dataset, settings.data.features, settings.data.max_degree, settings.data.scale)
    graphs = training_source(dataset, features, settings, device)
    method = build_method(settings, features.width).to(device).train()
    parameters = sum(p.numel() for p in method.parameters())
    if not isinstance(method, Trainable):  # it fits all graphs at once, and no part of that tells what the whole takes
        return Cost(parameters, 0, 0.0, _peak_memory(device))
    seconds = []
    devices = [device] if device.type == "cuda" else []
    feed = open_feed(graphs, device, settings.train, settings.level, settings.train.chunk_graphs or None)
    with closing(feed), suitable_threads(settings), torch.random.fork_rng(devices=devices):
        feed.begin(feed.cut(), 0)
        per_epoch = len(feed.parts)
        steps = per_epoch * settings.train.epochs * seeds
        step = GuardedStep(method, method.optimisers(settings.train), TrainingState().to(device))
        for number in range(min(STEPS + 1, per_epoch)):
            began = time.perf_counter()
            step(feed.take(*feed.batch(number)))
            if device.type == "cuda":
                torch.cuda.synchronize()
            if number or per_epoch == 1:  # the first step also allocates
                seconds.append(time.perf_counter() - began)
    typical = statistics.median(seconds) if seconds and steps else 0.0
    return Cost(parameters, steps, typical * steps, _peak_memory(device))


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
