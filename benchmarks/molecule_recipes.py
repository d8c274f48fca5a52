"""Find the nmrGCL recipe that pre-trains the molecular encoder best, without using test labels.

    python benchmarks/molecule_recipes.py --results runs/recipes --device cuda --jobs 4
    python benchmarks/molecule_recipes.py --results runs/recipes --device cuda --jobs 4 --final

Each candidate changes the preset ``molecules``, is pre-trained on five million molecules drawn from ZINC250k (20
epochs) and fine-tuned on the datasets of Table 3, or on some of them with ``--dataset``. The criterion is the mean over
datasets of the ROC-AUC on the validation data. With ``--final``, the best candidate is pre-trained on ZINC-2.2M for ten
epochs and fine-tuned on all four datasets; only then are test scores used. ``--arguments FILE`` writes the arguments
that ``nmrgcl pretrain`` needs to repeat it.
"""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.run.cell import Cell, Start
from nmrgcl.run.engine import run_cells
from nmrgcl.run.recipe import recipe
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, resolve
from nmrgcl.settings.schema import flatten
from nmrgcl.tune.files import toml_value

DATASETS = ("BBBP", "ToxCast", "SIDER", "ClinTox")
MOLECULES_SEEN = 19_500 * 256
FINAL: dict[str, Any] = {"train.batch_size": 1024, "train.steps": 21_350}
"""Ten epochs of 2.2 million molecules."""


def _views(*views: dict[str, Any]) -> dict[str, Any]:
    return {"views.first": list(views), "views.second": list(views)}


DROP, WALK = {"name": "DropNodes", "p": 0.2}, {"name": "Subgraph", "p": 0.2, "ratio": 0.8}
CANDIDATES: dict[str, dict[str, Any]] = {
    "preset": {},
    "tau 0.05": {"options.tau": 0.05},
    "tau 0.2": {"options.tau": 0.2},
    "delta 0.5": {"options.delta": 0.5},
    "delta 0.9": {"options.delta": 0.9},
    "weak views": _views({"name": "DropNodes", "p": 0.1}, {"name": "Subgraph", "p": 0.2, "ratio": 0.9}),
    "four views": _views(DROP, WALK, {"name": "DropEdges", "p": 0.2}, {"name": "DropFeatures", "p": 0.2}),
    "masked atoms": _views({"name": "DropFeatures", "p": 0.25}),
    "batch 1024": {"train.batch_size": 1024},
    "representation": {"options.where": "representation"},
}


def preset() -> Settings:
    """The preset that every candidate changes, with default settings for evaluation."""
    return Start("ZINC250k", recipe("nmrgcl", preset="molecules")).settings


def start(changes: dict[str, Any], dataset: str = "ZINC250k") -> Start:
    """A pre-training with some settings changed; all candidates see the same number of molecules."""
    settings = preset().updated({"train.precision": "bf16"} | changes)
    if not settings.train.steps:
        settings = settings.updated({"train.steps": MOLECULES_SEEN // settings.train.batch_size})
    return Start(dataset, settings)


def cells(begin: Start, seeds: int, datasets: Sequence[str] = DATASETS) -> list[Cell]:
    """Fine-tuning from ``begin`` on every dataset, as Table 3 does."""
    judged = resolve("supervised_molecules")
    return [
        Cell(dataset, replace(judged, seed=seed), protocol="finetune", split="scaffold", start=begin)
        for dataset in datasets
        for seed in range(seeds)
    ]


def means(found: Sequence[Cell], results: Results, score: str) -> dict[str, float]:
    """The mean validation (``valid``) or test (``folds``) score of each dataset over the finished seeds."""
    values: dict[str, list[float]] = {cell.dataset: [] for cell in found}
    for cell in found:
        if result := results.finished(cell.key):
            values[cell.dataset].append(float(np.mean(result.scores[score])))
    return {dataset: float(np.mean(scores)) if scores else float("nan") for dataset, scores in values.items()}


def show(name: str, row: dict[str, float]) -> None:
    print(f"{name:16}" + "".join(f"{value:9.2f}" for value in (*row.values(), np.mean(list(row.values())))), flush=True)


def assignments(begin: Start) -> list[str]:
    """The ``--set`` arguments that turn the preset into this pre-training."""
    plain = dict(flatten(preset().to_dict()))
    changed = {key: value for key, value in flatten(begin.settings.to_dict()) if plain[key] != value}
    return [f"{key}={toml_value(value)}" for key, value in changed.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dataset", action="append", help="evaluate candidates only on these", choices=DATASETS)
    parser.add_argument("--only", action="append", help="compute only these candidates", choices=list(CANDIDATES))
    parser.add_argument("--final", action="store_true", help="pre-train the best one on ZINC-2.2M and evaluate it")
    parser.add_argument("--final-seeds", type=int, default=5)
    parser.add_argument("--arguments", type=Path, help="write the best one's --set arguments into this file")
    given = parser.parse_args()
    results = Results(given.results.absolute())
    judges = given.dataset or DATASETS
    plans = {name: cells(start(CANDIDATES[name]), given.seeds, judges) for name in given.only or CANDIDATES}
    every = [cell for plan in plans.values() for cell in plan]
    run_cells(every, given.results, jobs=given.jobs, device=given.device)
    print("validation      " + "".join(f"{name:>9}" for name in (*judges, "mean")))
    table = {name: means(plan, results, "valid") for name, plan in plans.items()}
    for name, row in table.items():
        show(name, row)
    best = max(table, key=lambda name: np.nan_to_num(np.mean(list(table[name].values())), nan=-1.0))
    final = start(CANDIDATES[best] | FINAL, "ZINC-2.2M")
    print(f"best: {best}; nmrgcl pretrain ZINC-2.2M --preset molecules {_flags(final)}")
    if given.arguments:
        given.arguments.write_text("\n".join(assignments(final)) + "\n")
    if given.final:
        judged = cells(final, given.final_seeds)
        run_cells(judged, given.results, jobs=given.jobs, device=given.device)
        print("on ZINC-2.2M    " + "".join(f"{name:>9}" for name in (*DATASETS, "mean")))
        for score in ("valid", "folds"):
            show("test" if score == "folds" else score, means(judged, results, score))


def _flags(begin: Start) -> str:
    return " ".join(f"--set {shlex.quote(one)}" for one in assignments(begin))


if __name__ == "__main__":
    main()
