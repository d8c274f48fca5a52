"""``nmrgcl tune``."""

import json
import shlex
import sys
from datetime import UTC, datetime
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
    LearningRate,
    Preset,
    Slurm,
    training_options,
)
from nmrgcl.cli.results import HOME, Folder

if TYPE_CHECKING:
    from nmrgcl.tune.found import Found
    from nmrgcl.tune.search import Search

_WHERE = ("--results", "--jobs", "--backend", "--address", "--slurm", "--device", "--out", "--gather")
"""Options that do not affect the result of a search."""

Method = Annotated[str, typer.Option(help="Method whose settings are searched.", autocompletion=complete_method)]
Space = Annotated[
    str,
    typer.Option(
        metavar="graphs|pairs|small|wide|equal|collapse|FILE",
        help="Search space; small is for a CPU, equal compares methods; or a TOML file.",
    ),
]
Budget = Annotated[int, typer.Option(min=1, max=10_000, help="Candidates per dataset, including the preset.")]
Seeds = Annotated[int, typer.Option(min=1, max=10_000, help="Seeds per candidate.")]
Chance = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random candidates.")]
Protocol = Annotated[str, typer.Option(metavar="svm|lssvm", help="Evaluation protocol.")]
Criterion = Annotated[
    str,
    typer.Option(
        metavar="inner|NAME",
        help="Choose by inner folds, or without labels by effective_rank, uniformity, alignment, neighbours, loss, ….",
    ),
]
EveryScaling = Annotated[
    bool, typer.Option("--every-scaling", help="Try every value of svm.standardise with each candidate.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for NAME.json (scores) and NAME.toml (settings).")]
Gather = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also combine every NAME.toml in --out into one preset.")
]


def tune(
    data: Datasets,
    method: Method = "nmrgcl",
    encoder: EncoderOption = None,
    preset: Preset = None,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    assignments: Assignments = None,
    space: Space = "graphs",
    budget: Budget = 24,
    seeds: Seeds = 5,
    chance: Chance = 0,
    protocol: Protocol = "svm",
    every_scaling: EveryScaling = False,
    criterion: Criterion = "inner",
    results: Folder = HOME,
    jobs: CellJobs = 0,
    backend: Backend = "processes",
    address: Address = None,
    slurm: Slurm = None,
    device: Device = "auto",
    out: Out = Path("runs/tuned"),
    gather: Gather = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Search settings for a dataset by nested cross-validation: each fold uses the best candidate on its training rows.

    Candidates are the preset and random draws from a search space; --set applies to all of them. A larger --budget
    continues a smaller one. If interrupted, run the same command again to continue. With --every-scaling, the raw,
    standardised and squashed embeddings of a candidate are evaluated from one training, and the best is chosen in the
    same way. With --criterion, candidates are chosen without labels by a measure of their embeddings; labels then only
    judge the choice, beside that by inner folds. Exits with 1 if cells are missing at the end.

    Examples:

      nmrgcl tune MUTAG --space small --budget 12 --seeds 3 --protocol lssvm

      nmrgcl tune PTC_MR PROTEINS --device cuda --jobs 12 --budget 48

      nmrgcl tune MUTAG --space small --budget 12 --criterion effective_rank

      nmrgcl tune NCI1 --backend ray --address 10.0.0.1:6379 --device cuda --jobs 32

      nmrgcl tune MUTAG --preset graphcl --set encoder.units=32 --space mine.toml --dry-run --json

      nmrgcl pretrain MUTAG --config runs/tuned/MUTAG.toml
    """
    from nmrgcl.cli.cells import compute_cells, engine_options
    from nmrgcl.run.recipe import with_encoder, with_options
    from nmrgcl.tune.files import place_of
    from nmrgcl.tune.found import require_criterion
    from nmrgcl.tune.search import plan_search

    require_criterion(criterion)
    where = engine_options(backend, address=address, slurm=slurm or (), device=device)
    fixed = with_options(with_encoder(assignments or (), encoder), training_options(epochs, lr, batch_size))
    options: dict[str, Any] = {"budget": budget, "seeds": seeds, "protocol": protocol, "chance": chance}
    options |= {"preset": preset, "assignments": fixed, "space": space, "every_scaling": every_scaling}
    searches = [plan_search(name, method, **options) for name in dict.fromkeys(data)]
    if dry_run:
        _list(searches, results, as_json, jobs=jobs, **where)
        return
    for search in searches:
        # A file of that name that is not ours is refused before hours of computation.
        place_of(search.dataset, out)
    # All datasets at once, so that their cells share the workers.
    cells = [cell for search in searches for cell in search.cells()]
    summary = compute_cells(cells, results, jobs=jobs, **where)
    if summary.busy or summary.lost:
        print("nmrgcl: cells are missing; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(1)
    _finish(searches, criterion, results, out, gather, as_json)


def _finish(
    searches: "list[Search]", criterion: str, folder: Path, out: Path, gathered: Path | None, as_json: bool
) -> None:
    from nmrgcl.tune.files import gather_preset, write_found
    from nmrgcl.tune.found import Found
    from nmrgcl.tune.search import gather

    command, date = shlex.join(["nmrgcl", *_what_counts(sys.argv[1:])]), datetime.now(UTC).date().isoformat()
    facts = []
    for search in searches:
        found = Found(search, gather(search, folder), command, date, criterion)
        record, preset = write_found(found, out)
        facts.append({**found.to_dict(), "files": [str(record), str(preset)]})
        if not as_json:
            _print(found, preset)
    if gathered is not None:
        gather_preset(out, gathered)
    if as_json:
        print(json.dumps({"searches": facts}))


def _what_counts(words: list[str]) -> list[str]:
    """Remove the options that do not affect the result, so that the command is the same on any machine."""
    kept, words = [], list(words)
    while words:
        word = words.pop(0)
        if word in _WHERE:
            # "--out DIR" has its value in the next word, "--out=DIR" in its own.
            del words[:1]
        elif word != "--json" and word.partition("=")[0] not in _WHERE:
            kept.append(word)
    return kept


def _list(searches: "list[Search]", folder: Path, as_json: bool, **options: Any) -> None:
    from nmrgcl.cli.cells import costs

    cells = [cell for search in searches for cell in search.cells()]
    rows = [
        {
            "dataset": search.dataset,
            "cells": len(search.cells()),
            "candidates": [candidate.drawn for candidate in search.candidates],
        }
        for search in searches
    ]
    if as_json:
        print(json.dumps({"searches": rows, "seconds": costs(cells, folder, **options).seconds}))
        return
    for search in searches:
        print(f"{search.dataset}: {len(search.candidates)} candidates, {len(search.cells())} cells")
        for number, candidate in enumerate(search.candidates):
            print(f"  {number:>3}  {_words(candidate.drawn) or 'the preset as it is'}")
    print(f"{costs(cells, folder, **options).sentence}, in {folder}")


def _print(found: "Found", preset: Path) -> None:
    from nmrgcl.evaluate.spread import with_spread
    from nmrgcl.tune.found import INNER

    facts, search = found.to_dict(), found.search
    width = len(search.candidates)
    print(f"{search.dataset}: accuracy in %, mean ± sample standard deviation, {search.seeds} seeds; {search.protocol}")
    tuned = (
        f"tuned over {width} candidates",
        facts["criteria"][INNER],
        "honest: test folds did not influence the choice",
    )
    chosen = (f"chosen by {found.criterion}", facts["nested"], "honest: no label influenced the choice")
    rows = [
        ("preset as it is", facts["preset"], "honest"),
        *([] if found.criterion == INNER else [chosen]),
        tuned,
        ("best on the test folds", facts["seen"], f"not a valid result: candidate {found.seen}"),
    ]
    for name, scores, note in rows:
        print(f"  {name:<26} {with_spread(scores['mean'], scores['std'])}   {note}")
    times = sorted(((count, n) for n, count in enumerate(found.choice.times(width)) if count), reverse=True)
    print(
        f"  chosen: {', '.join(f'candidate {n} on {count}' for count, n in times)} of {found.choice.chosen.size} folds"
    )
    if found.scores.failed:
        print(f"  failed and left out: candidates {', '.join(map(str, found.scores.failed))}")
    winner = search.candidates[found.winner]
    print(f"  use candidate {found.winner}: {_words(winner.drawn) or 'the preset as it is'}\n  {preset}")


def _words(drawn: "dict[str, object]") -> str:
    """Describe what was drawn in one line."""
    return " ".join(f"{key}={_name(value)}" for key, value in drawn.items())


def _name(value: object) -> str:
    """Describe a drawn value; the two views as ``first/second``, alternatives as ``a|b``, sequences as ``[a+b]``."""
    if isinstance(value, list):
        return "|".join(map(_view, value)) or "Identity"
    if isinstance(value, dict):
        sides = [_name(part) for part in value.values() if isinstance(part, list)]
        return "/".join(sides) or json.dumps(value)
    return str(value)


def _view(view: "dict[str, Any]") -> str:
    """Describe a view by its name and parameters."""
    parts = [_view(part) for part in view.get("views", ())]
    rest = ",".join(f"{key}={value}" for key, value in view.items() if key not in ("name", "views"))
    return (f"[{'+'.join(parts)}]" if parts else str(view["name"])) + (f"({rest})" if rest else "")
