"""A loss that is not a number at step k: the run stops before the step, says where, and goes on once cured."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import nmrgcl.methods.nmrgcl as module
from nmrgcl.errors import NonFiniteError
from nmrgcl.methods.nmrgcl import NMRGCL
from tests.faults import child
from tests.faults.small import SEEDS, STEPS, assert_whole, files, scratch, train, uninterrupted
from tests.faults.tally import Tally


def poison() -> Tally:
    """Every step of the small run, with the loss and then with a gradient that is not a number."""
    tally = Tally("NaN at step k: weights untouched, batch named, then completed")
    with tally.timed(), scratch() as folder:
        expected = uninterrupted()
        for where in ("loss", "gradient"):
            for step in range(SEEDS * STEPS):
                with tally.trial(f"{where}, step {step}"):
                    _one_run(folder / f"{where}-{step}", where, step, expected)
    return tally


def _one_run(out: Path, where: str, step: int, expected: dict[str, bytes]) -> None:
    told = child.run(lambda: _poisoned(out, where, step)).expect(child.DONE).value
    dump = out / f"non-finite-seed-{step // STEPS}.json"
    assert told.isprintable(), told
    assert str(dump) in told, told
    found = json.loads(dump.read_text())
    assert (found["epoch"], found["batch"]) == (step % STEPS // 3 + 1, step % 3 + 1), found
    assert_whole(out)
    child.run(lambda: train(out)).expect(child.DONE)
    left = files(out)
    left.pop(dump.name)  # it stays, for whoever wants to know
    assert left == expected, "the cured run differs"


def _poisoned(out: Path, where: str, step: int) -> str:
    """Run until it stops; what is told then."""

    class Poisoned(NMRGCL):
        seen = 0
        before: tuple[Any, list[torch.Tensor]]

        def losses(self, graphs: Any, progress: Any) -> Iterator[Any]:
            for loss in super().losses(graphs, progress):
                if Poisoned.seen == step:
                    Poisoned.before = self, [p.detach().clone() for p in self.parameters()]
                    zero = loss - loss.detach()
                    loss = loss * float("nan") if where == "loss" else loss + torch.sqrt(zero)
                yield loss
            Poisoned.seen += 1

    module.METHOD = Poisoned  # this process is a child's
    try:
        train(out)
    except NonFiniteError as error:
        method, before = Poisoned.before
        assert all(map(torch.equal, method.parameters(), before)), "the weights were touched"
        return str(error)
    raise AssertionError("nothing was noticed")
