"""The protocols of molecules that look at fingerprints: what a chemist would fit first, judged on the same parts."""

from typing import Any, Literal

from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.data.molecules.splits import split_rows
from nmrgcl.evaluate.fingerprints import fingerprint_score
from nmrgcl.evaluate.goals import goal_of
from nmrgcl.run.protocols import FoldScores, Truth


def score_by_fingerprints(truth: Truth, split: str, *, seed: int, model: Literal["forest", "linear"]) -> FoldScores:
    """Fit each task on the training part, judge all of them on the test part."""
    assert truth.molecules is not None  # such cells are split as molecules
    goal: Any = goal_of(truth.y)
    parts = split_rows(truth.molecules, split, seed=seed)
    found = fingerprint_score(ecfp(truth.molecules.smiles), truth.y, parts, model=model, goal=goal, seed=seed)
    beside = {name: [value] for name, value in found.beside.items()}
    return FoldScores([found.test], {"valid": [found.valid], "chosen": found.chosen, **beside})
