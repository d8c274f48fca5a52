"""Table 2 of the paper: every method on every dataset, seed and split, beside the figures that papers print.

    python benchmarks/table2.py --dry-run                                   # the cells, and what training takes at most
    python benchmarks/table2.py --device cuda --jobs 8 --limit 540 --json results/nodes/table2.json
    python benchmarks/table2.py --only nmrGCL/PubMed --only GRACE           # some rows, some columns

Finished cells are in ``--results`` and are not computed again: the same command goes on where a limit or a signal ended
it. Rows, seeds, splits and printed figures are in table2.toml.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nmrgcl.cli.cells import show_cells
from nmrgcl.data.catalog import find
from nmrgcl.errors import SettingError, UserError, nearest
from nmrgcl.methods import find_method
from nmrgcl.run.cell import Run
from nmrgcl.run.engine import run_cells
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.result import Result
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, resolve

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FLOPS, LAUNCHES = 120e12, 3e-3
"""What an H200 is taken to do: products in TF32 a second, and seconds a step for everything else."""
PRODUCTS = {"infonce": 3 * 4, "merit": 22}
"""By loss: how often a step multiplies N × D by D × N; InfoNCE has 2N rows, forwards once and backwards twice."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the table; ``paper`` and ``published`` hold printed figures."""

    name: str
    method: str
    preset: str
    seeds: int
    protocol: str = "linear"
    paper: dict[str, list[float]] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)

    def settings(self, dataset: str, args: argparse.Namespace) -> Settings:
        fixed = find_method(self.method).FIXED
        found = resolve(self.preset, assignments=args.set, method=self.method, fixed=fixed, dataset=dataset)
        epochs = min(found.train.epochs, args.most_epochs or found.train.epochs)
        return replace(found, train=replace(found.train, epochs=epochs))

    def cells(self, dataset: str, args: argparse.Namespace) -> list[Run]:
        """By split within a seed: what differs in its split alone has one training."""
        settings = self.settings(dataset, args)
        seeds = range(min(self.seeds, args.seeds or self.seeds))
        splits = [*TABLE["splits"], *(["public"] if dataset in TABLE["public"] else [])]
        return [
            Run(dataset, replace(settings, seed=seed), self.protocol, split=split)  # type: ignore[arg-type]
            for seed in seeds
            for split in splits
            if not args.split or split in args.split
        ]


ROWS = [Row(**values) for values in TABLE["rows"]]


def wanted(only: list[str]) -> list[tuple[Row, str]]:
    """Rows and columns that ``ROW/DATASET``, ``ROW`` or ``/DATASET`` name; all where nothing is named."""
    names, chosen = {row.name.lower(): row.name for row in ROWS}, set()
    for text in only or ["/"]:
        row, _, column = text.partition("/")
        entry = find(column) if column else None
        if row and row.lower() not in names:
            raise SettingError(f"--only {text}: no row {row!r}; {nearest(row, names.values())}")
        if column and (entry is None or entry.name not in TABLE["datasets"]):
            raise SettingError(f"--only {text}: no column {column!r}; {nearest(column, TABLE['datasets'])}")
        rows = [names[row.lower()]] if row else list(names.values())
        chosen |= {(name, column) for name in rows for column in ([entry.name] if entry else TABLE["datasets"])}
    return [(row, column) for row in ROWS for column in TABLE["datasets"] if (row.name, column) in chosen]


def most_seconds(cell: Run) -> float:
    """To train, by products of matrices and launches, if nothing stops early."""
    settings, entry = cell.settings, find(cell.dataset)
    nodes, width = entry.nodes if entry else 0, settings.head.units or settings.encoder.units
    flops = 2 * PRODUCTS.get(settings.loss.name, 0) * nodes**2 * width
    return settings.train.epochs * (flops / FLOPS + LAUNCHES)


def summarise(row: Row, dataset: str, split: str, found: list[Result], missing: int) -> dict[str, Any]:
    """One entry of the table: what was computed, what is printed, and the differences."""
    means = [result.mean for result in found]
    entry: dict[str, Any] = {"row": row.name, "dataset": dataset, "split": split, "n": len(means), "missing": missing}
    paper, printed = row.paper.get(dataset), [p for p in row.published if p["dataset"] == dataset]
    entry |= {"paper": paper, "published": printed[0] if printed else None}
    if not means:
        return entry
    mean, std = statistics.fmean(means), statistics.stdev(means) if len(means) > 1 else 0.0
    epochs = [result.scores.get("epochs", [result.training["epochs"]])[0] for result in found]
    return entry | {
        "mean": mean,
        "std": std,
        "to_paper": mean - paper[0] if paper else None,
        "to_published": mean - printed[0]["mean"] if printed and printed[0]["split"] == split else None,
        "epochs": epochs,
        "seconds": [result.times["total"] for result in found],
        "seeds": means,
        "device": found[0].hardware.get("device"),
    }


def table(cells: dict[tuple[Row, str], list[Run]], results: Results) -> list[dict[str, Any]]:
    entries = []
    for (row, dataset), runs in cells.items():
        for split in dict.fromkeys(run.split for run in runs):
            of_split = [run for run in runs if run.split == split]
            found = [result for run in of_split if (result := results.finished(run.key))]
            entries.append(summarise(row, dataset, split, found, len(of_split) - len(found)))
    return entries


def show(entries: list[dict[str, Any]]) -> None:
    print(f"{'':<10} {'dataset':<17} {'split':<16} {'ours':<18} {'− paper':>7} {'− published':>11}  epochs, seconds")
    for entry in entries:
        ours = f"{entry['mean']:.2f} ± {entry['std']:.2f} ({entry['n']})" if entry["n"] else "–"
        gaps = [
            format(gap, "+.2f") if (gap := entry.get(key)) is not None else "–" for key in ("to_paper", "to_published")
        ]
        spent = (
            f"{statistics.fmean(entry['epochs']):.0f}, {statistics.fmean(entry['seconds']):.1f}" if entry["n"] else ""
        )
        line = f"{entry['row']:<10} {entry['dataset']:<17} {entry['split']:<16} {ours:<18} {gaps[0]:>7} {gaps[1]:>11}"
        print(f"{line}  {spent}" + (f", {entry['missing']} missing" if entry["missing"] else ""))


def run(cells: dict[tuple[Row, str], list[Run]], args: argparse.Namespace) -> bool:
    """Compute what is missing, then print the table; whether it is complete."""
    runs, results = [run for some in cells.values() for run in some], Results(args.results)
    todo = [run for run in runs if results.finished(run.key) is None]
    linear = [replace(run, split=TABLE["splits"][0]) for run in todo if run.protocol == "linear"]
    trainings = {run.key: most_seconds(run) for run in linear if run.settings.train.epochs}
    count = f"{len(runs)} cells, {len(todo)} of them to compute, in {args.results}"
    print(
        f"{count}; {len(trainings)} trainings take an H200 about {sum(trainings.values()):.0f} s at most",
        file=sys.stderr,
    )
    if not args.dry_run:
        try:
            with ended_after(args.limit), show_cells(len(todo)) as on_done:
                run_cells(todo, args.results, jobs=args.jobs, device=args.device, on_done=on_done)
        except Interrupted as ended:
            print(f"table2: {ended}; the same command goes on", file=sys.stderr)
    entries = table(cells, results)
    show(entries)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"entries": entries}, indent=1) + "\n", encoding="utf-8")
    return not any(entry["missing"] for entry in entries)


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """A signal at that time, at which cells under way keep a checkpoint; 0: never."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM)) if seconds else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer:
            timer.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="ROW/DATASET")
    parser.add_argument("--split", action="append", default=[], choices=[*TABLE["splits"], "public"])
    parser.add_argument("--seeds", type=int, default=0, help="at most so many of each row")
    parser.add_argument("--most-epochs", type=int, default=0, help="at most so many of each row")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of every row")
    parser.add_argument("--results", type=Path, default=Path("runs/table2"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0, help="end after so many seconds; the same command goes on")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    try:
        cells = {(row, column): row.cells(column, args) for row, column in wanted(args.only)}
        complete = run(cells, args)
    except UserError as error:
        print(f"table2: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
