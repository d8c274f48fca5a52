"""Compare runs with a reference run on the same folds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmrgcl.data.loading import load
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.paired import Difference, holm, paired_difference
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import SeedScores
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.own_data import load_own_data


@dataclass(frozen=True)
class RunComparison:
    """The scores of all runs, and the difference of each from the first one, with Holm-corrected p-values."""

    dataset: str
    runs: tuple[str, ...]
    scores: tuple[SeedScores, ...]
    differences: tuple[Difference, ...]
    p_holm: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The object that ``nmrgcl compare --json`` prints."""
        means = [{"run": run, **scores.to_dict()} for run, scores in zip(self.runs, self.scores, strict=True)]
        pairs = zip(self.runs[1:], self.differences, self.p_holm, strict=True)
        rows = [{"run": run, **asdict(difference), "p_holm": p} for run, difference, p in pairs]
        return {"dataset": self.dataset, "reference": self.runs[0], "runs": means, "differences": rows}


def compare_runs(runs: Sequence[Path], data: str | None, **options: Any) -> RunComparison:
    """Evaluate all runs on ``data`` (default: the training data of the first run) and test each against the first.

    ``options`` are passed to ``evaluate_run``.
    """
    if len(runs) < 2:
        raise SettingError("compare needs at least two runs")
    seeds = [[folder.name for folder in find_models(run)] for run in runs]
    for run, names in zip(runs, seeds, strict=True):
        # A single model may have any seed, because it is scored on the folds of seeds 0, 1, ….
        if len(names) != len(seeds[0]) or (len(names) > 1 and names != seeds[0]):
            raise SettingError(
                f"{run}: has other seeds than {runs[0]}; folds depend on the seed, so scores cannot be paired"
            )
    dataset = load_own_data(runs[0], "nmrgcl compare … --data") if data is None else load(data)
    reference, *others = (evaluate_run(run, dataset, **options) for run in runs)
    if reference.trained.folds.size < 2:
        raise SettingError(
            f"{runs[0]}: one model on one split has a single score, too few for a test; "
            "pre-train with --seeds 2 or more, or use a random split"
        )
    ratio = reference.test_to_train
    pairs = [paired_difference(one.trained.folds, reference.trained.folds, test_to_train=ratio) for one in others]
    return RunComparison(
        dataset=dataset.name,
        runs=tuple(map(str, runs)),
        scores=tuple(one.trained for one in (reference, *others)),
        differences=tuple(pairs),
        p_holm=tuple(holm([pair.p for pair in pairs])),
    )
