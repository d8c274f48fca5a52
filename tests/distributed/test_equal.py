"""Several ranks compute what one process computes on the whole batch."""

import pytest
import torch

from nmrgcl.methods import Level, Pretraining, find_method, method_names
from tests.distributed import jobs
from tests.distributed.crew import Crew


def divisible(name: str) -> bool:
    kind = find_method(name)
    return issubclass(kind, Pretraining) and kind.ACROSS_RANKS


VARIANTS = {
    "nmrgcl": [
        ["removal=random"],
        ["removal=learned", "loss=graphcl"],
        ["where=representation"],
        ["encoder.name=gcn", "encoder.norm=batch"],
    ],
    "infograph": [["prior=0.1"]],
    "joao": [["heads=per_view"]],
    "gcc": [["contrast=moco", "queue=4"]],
    "attr_masking": [["mask_bonds=true"]],
}
CASES = [
    (name, level, variant)
    for name in method_names()
    if divisible(name)
    for level in find_method(name).PRESETS
    for variant in ([], *(VARIANTS.get(name, []) if level == "graph" else []))
]


@pytest.mark.parametrize(("name", "level", "variant"), CASES, ids=[" ".join([n, v, *w]) for n, v, w in CASES])
def test_gradients_and_losses_of_2_3_and_4_ranks_are_those_of_one_process(
    name: str, level: Level, variant: list[str], crew: Crew
) -> None:
    alone = jobs.losses_and_gradients(0, 1, name, level, *variant)
    for count in (2, 3, 4):
        for found in crew.run("losses_and_gradients", count, name, level, *variant)[:count]:
            torch.testing.assert_close(found[0]["gradients"], alone[0]["gradients"], rtol=0, atol=1e-12)
            torch.testing.assert_close(found[0]["buffers"], alone[0]["buffers"], rtol=1e-9, atol=1e-9)
            for now, then in zip(found, alone, strict=True):
                torch.testing.assert_close(now["loss"], then["loss"], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("sampling", ["walk", "neighbours"])
def test_ranks_that_train_on_samples_of_a_graph_have_the_same_weights_and_losses(sampling: str, crew: Crew) -> None:
    for count in (2, 3):
        first, *others = crew.run("train_on_samples", count, "nmrgcl", sampling)[:count]
        assert len(first["losses"]) == 3
        assert first["losses"][2] < first["losses"][0]
        for other in others:
            assert other["losses"] == first["losses"]
            assert all(torch.equal(first["weights"][name], other["weights"][name]) for name in first["weights"])
