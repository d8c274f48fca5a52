"""A checkpoint does not depend on how many ranks there were, or will be."""

from pathlib import Path

import torch

from nmrgcl.methods import build_pretraining
from tests.distributed import jobs
from tests.distributed.crew import Crew
from tests.methods.members import settings_of

BATCHES, BATCH = 3, 4


def test_a_resumed_training_equals_one_that_was_not_interrupted_and_sees_each_graph_once(
    crew: Crew, tmp_path: Path
) -> None:
    whole = crew.run("train_from_a_library", 3, tmp_path, False)[:3]
    for count in (3, 2, 1):
        resumed = crew.run("train_from_a_library", count, tmp_path, True)[:count]
        weights = [found["weights"] for found in resumed]
        assert all(torch.equal(weights[0][name], other[name]) for other in weights for name in other)
        if count == 3:
            assert all(torch.equal(weights[0][name], whole[0]["weights"][name]) for name in weights[0])
            assert resumed[0]["losses"] == whole[0]["losses"][2:]
        before = [graph for found in whole for batch in found["seen"][2 * BATCHES : jobs.KEPT_AT] for graph in batch]
        after = [graph for found in resumed for batch in found["seen"] for graph in batch]
        assert sorted(before + after) == list(range(len(jobs.LIBRARY)))


def test_each_rank_reads_its_own_graphs_and_no_others(crew: Crew, tmp_path: Path) -> None:
    found = crew.run("train_from_a_library", 4, tmp_path, False)
    for rank, one in enumerate(found):
        assert sorted(one["read"]) == sorted(graph for batch in one["seen"] for graph in batch), rank
    first = [graph for one in found for batch in one["seen"][:BATCHES] for graph in batch]
    assert sorted(first) == list(range(len(jobs.LIBRARY)))


def test_the_bytes_per_step_are_those_of_the_formula_in_the_documentation(crew: Crew, tmp_path: Path) -> None:
    settings = settings_of("graphcl")
    parameters = sum(p.numel() for p in build_pretraining(settings, 4).parameters())
    layers, units, word = settings.encoder.layers, settings.encoder.units, 4
    for ranks in (2, 3):
        rows, width = -(-BATCH // ranks), layers * units
        assert crew.run("train_from_a_library", ranks, tmp_path, False)[0]["bytes"] == {
            "embeddings": (1 + ranks) * rows * width * word,
            "statistics": 2 * layers * (4 * units + 1) * word,
            "gradients": parameters * word,
            "numbers": word,
        }
