"""``nmrgcl sweep``."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.completion import complete_method
from nmrgcl.cli.options import (
    Address,
    AsJson,
    Assignments,
    Backend,
    BatchSize,
    CellJobs,
    Datasets,
    Device,
    DryRun,
    EncoderOption,
    Epochs,
    KeepTrained,
    LearningRate,
    Preset,
    Slurm,
    training_options,
)
from nmrgcl.cli.results import HOME, Folder

if TYPE_CHECKING:
    from nmrgcl.run.cell import Cell
    from nmrgcl.run.engine import Summary

Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="Methods, or their files: the rows of the table. (default: nmrgcl)",
        show_default=False,
        autocompletion=complete_method,
    ),
]
Seeds = Annotated[int, typer.Option(min=1, max=10_000, help="Seeds per method and dataset.")]
Protocols = Annotated[
    list[str] | None,
    typer.Option(
        metavar="svm|lssvm|linear|finetune",
        help="Evaluation protocol; may be repeated. (default: svm, nodes: linear)",
    ),
]
Splits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="random-10-10-80|paper-80-10-10|public",
        help="Split of the nodes; may be repeated. (default: random-10-10-80)",
    ),
]
Selection = Annotated[
    str,
    typer.Option(
        metavar="honest|paper|both",
        help="paper: report the best epoch and C on the test folds, as published code does.",
    ),
]
Cluster = Annotated[str, typer.Option(metavar="slurm|local", help="local: try the Slurm backend on this machine.")]


def sweep(
    data: Datasets,
    method: Methods = None,
    encoder: EncoderOption = None,
    preset: Preset = None,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    assignments: Assignments = None,
    seeds: Seeds = 5,
    protocol: Protocols = None,
    split: Splits = None,
    selection: Selection = "honest",
    results: Folder = HOME,
    jobs: CellJobs = 0,
    backend: Backend = "processes",
    address: Address = None,
    slurm: Slurm = None,
    cluster: Cluster = "slurm",
    device: Device = "auto",
    keep_trained: KeepTrained = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Compute a table of methods and datasets; finished cells are never computed again.

    Cells that differ only in their evaluation share a training. If interrupted, run the same command again to continue.
    With several methods and seeds, each method is compared with the first one on the same folds.
    Exits with 1 if cells are missing at the end.

    Examples:

      nmrgcl sweep MUTAG PROTEINS --method nmrgcl --method graphcl --method untrained

      nmrgcl sweep NCI1 --preset graphcl --epochs 12 --results runs/nci1 --jobs 4

      nmrgcl sweep MUTAG --protocol svm --protocol lssvm --selection both

      nmrgcl sweep MUTAG --backend slurm --slurm partition=gpu --device cuda --jobs 20

      nmrgcl sweep MUTAG --backend ray --address 10.0.0.1:6379 --device cuda --jobs 32
    """
    from nmrgcl.cli.cells import compute_cells, engine_options
    from nmrgcl.run.recipe import with_encoder, with_options
    from nmrgcl.run.sweep import sweep_cells

    options = engine_options(backend, address=address, slurm=slurm or (), device=device)
    given = with_options(with_encoder(assignments or (), encoder), training_options(epochs, lr, batch_size))
    judged: dict[str, Any] = {"protocols": protocol or (), "splits": split or (), "selection": selection}
    cells = sweep_cells(data, method or (), preset=preset, assignments=given, seeds=seeds, **judged)
    if dry_run:
        _list(cells, results, as_json, jobs=jobs, **options)
        return
    summary = compute_cells(cells, results, jobs=jobs, keep_trained=keep_trained, cluster=cluster, **options)
    _print(cells, summary, results, as_json)
    if not summary.complete:
        raise typer.Exit(1)


def _list(cells: "list[Cell]", folder: Path, as_json: bool, **options: Any) -> None:
    from nmrgcl.cli.cells import costs
    from nmrgcl.run.results import Results

    finished = set(Results(folder).keys())
    rows = [{"key": c.key, "finished": c.key in finished, **c.to_dict()} for c in cells]
    if as_json:
        print(json.dumps({"folder": str(folder), "cells": rows, "seconds": costs(cells, folder, **options).seconds}))
        return
    for cell in cells:
        state = "finished" if cell.key in finished else "to compute"
        print(f"{cell.key[:12]}  {cell.dataset:<16} {cell.method:<10} seed {cell.seed:<3} {cell.judge:<40} {state}")
    print(f"{costs(cells, folder, **options).sentence}, in {folder}")


def _print(cells: "list[Cell]", summary: "Summary", folder: Path, as_json: bool) -> None:
    from nmrgcl.run.results import Results
    from nmrgcl.run.sweep_pairs import compare_methods
    from nmrgcl.run.sweep_table import as_text, tabulate

    stored = Results(folder)
    results = {cell.key: result for cell in cells if (result := stored.finished(cell.key))}
    table, compared = tabulate(results.values()), compare_methods(cells, results)
    if as_json:
        facts = {"table": [asdict(entry) for entry in table], "differences": [r for c in compared for r in c.to_rows()]}
        print(json.dumps({"folder": str(folder), **facts, **asdict(summary)}))
        return
    for judge in dict.fromkeys(cell.judge for cell in cells):
        measures = dict.fromkeys(result.measure for result in results.values() if result.cell.judge == judge)
        print(f"{' or '.join(measures) or 'accuracy in %'}, mean ± sample standard deviation (seeds); {judge}")
        print(as_text(entry for entry in table if entry.judge == judge))
    for one in compared:
        print(f"\n{one}")
    missing = {name: len(getattr(summary, name)) for name in ("failed", "busy", "lost")}
    notes = [f"{count} {name}" for name, count in missing.items() if count]
    if notes:
        print(f"missing: {', '.join(notes)}; run the same command again to retry them", file=sys.stderr)
