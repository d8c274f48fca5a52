"""``nmrgcl reproduce``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl import reading
from nmrgcl.cli.completion import complete_dataset, complete_item, complete_preset
from nmrgcl.cli.options import Address, AsJson, Assignments, Backend, CellJobs, Device, DryRun, KeepTrained, Slurm
from nmrgcl.cli.results import HOME, Folder
from nmrgcl.cli.terminal import note

if TYPE_CHECKING:
    from nmrgcl.reproduce.item_page import Made
    from nmrgcl.reproduce.request import Request
    from nmrgcl.reproduce.verdict import Verdict


Item = Annotated[
    str | None,
    typer.Argument(
        metavar="[ITEM]", help="For example table1, all, or claims. (default: list them)", autocompletion=complete_item
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, marked as such; minutes on a laptop.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="DATASET", help="Use only this dataset; may be repeated.", autocompletion=complete_dataset),
]
Seeds = Annotated[int, typer.Option(min=0, max=10_000, help="Seeds per cell; 0: as in the item.")]
Protocol = Annotated[str, typer.Option(metavar="svm|lssvm", help="Evaluation protocol. (default: that of the item)")]
TablePreset = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Preset for the rows of a table without one of their own. (default: that of the table)",
        autocompletion=complete_preset,
    ),
]
Rows = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this row of a table; may be repeated.")]
Selection = Annotated[
    str, typer.Option(metavar="honest|paper", help="Only one model selection of a table. (default: both)")
]
MostEpochs = Annotated[int, typer.Option(min=0, help="Upper limit of epochs for each row of a table; 0: none.")]
Limit = Annotated[
    float, typer.Option(min=0, help="Stop after this many seconds; run the same command again to continue.")
]
RenderOnly = Annotated[bool, typer.Option("--render-only", help="Render finished cells; compute nothing.")]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FILE|DIR", help="Use the results in the item's .json of another run, or in a folder of them."
    ),
]
Searches = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder written by nmrgcl tune: nested scores for a table's tuned row."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page, figures and rows.")]


def reproduce(
    item: Item = None,
    quick: Quick = False,
    only: Only = None,
    seeds: Seeds = 0,
    protocol: Protocol = "",
    preset: TablePreset = "",
    row: Rows = None,
    selection: Selection = "",
    most_epochs: MostEpochs = 0,
    assignments: Assignments = None,
    results: Folder = HOME,
    jobs: CellJobs = 0,
    backend: Backend = "processes",
    address: Address = None,
    slurm: Slurm = None,
    device: Device = "auto",
    limit: Limit = 0,
    keep_trained: KeepTrained = False,
    dry_run: DryRun = False,
    render_only: RenderOnly = False,
    source: Source = None,
    searches: Searches = None,
    out: Out = Path("runs/reproduce"),
    as_json: AsJson = False,
) -> None:
    """Reproduce a table or figure of the paper, with a verdict on each of its claims.

    Prints the cost before it starts. Finished cells are never computed again; missing ones are shown as missing.
    Prints tables as Markdown, and the verdicts of figures. Writes ITEM.html, ITEM.svg and ITEM.json to --out, and for a
    table also ITEM.md, ITEM.tex and ITEM.csv; all writes every item and index.html. claims judges every claim by stored
    results, computes nothing, and writes claims.html and claims.csv. Exits with 1 if cells are missing at the end.

    Examples:

      nmrgcl reproduce

      nmrgcl reproduce table1 --quick

      nmrgcl reproduce table1 --row nmrGCL --row GraphCL --only NCI1 --dry-run

      nmrgcl reproduce table1 --backend ray --address 10.0.0.1:6379 --device cuda --jobs 32

      nmrgcl reproduce all --render-only --from results --out site

      nmrgcl reproduce claims --from results --out site

      nmrgcl reproduce figure8 --only NCI1 --seeds 2 --dry-run

      nmrgcl reproduce figure8 --render-only --from results/figure8.json --out figures --json
    """
    if item is None:
        _list(as_json)
        return
    from nmrgcl.cli.cells import engine_options
    from nmrgcl.reproduce.compute import Computing
    from nmrgcl.reproduce.request import Request

    where = engine_options(backend, address=address, slurm=slurm or (), device=device)
    how = Computing(results, where.pop("device"), jobs, render_only, limit, keep_trained, where=where)
    of_tables = {"preset": preset, "rows": row or (), "selection": selection, "most_epochs": most_epochs}
    options = {"only": only or (), "protocol": protocol, "assignments": assignments or (), **of_tables}
    request = Request(how, out, quick, seeds, options, source, searches)
    if item == "claims":
        _make_claims(request, as_json)
    elif dry_run:
        _tell_costs(item, request, as_json)
    else:
        _make(item, request, as_json)


def _make(item: str, request: "Request", as_json: bool) -> None:
    from nmrgcl.cli.cells import show_cells
    from nmrgcl.reproduce import find_item
    from nmrgcl.reproduce.request import make, make_all, require_for_all
    from nmrgcl.run.interrupt import Interrupted

    index, ways = None, {"say": note, "progress": show_cells}
    try:
        if item == "all":
            require_for_all(request)
            index, made = make_all(request, **ways)  # type: ignore[arg-type]
        else:
            made = [make(find_item(item), request, **ways)]  # type: ignore[arg-type]
    except Interrupted as ended:
        raise typer.Exit(128 + ended.signum) from None
    if as_json:
        found = [_facts(one) for one in made if one.scores]
        print(json.dumps({"index": str(index), "items": found} if index else found[0]))
    elif index:
        print("\n".join(f"{one.plan.label:<15} {one.state}" for one in made), index, sep="\n")
    else:
        _tell(made[0])
    if not request.how.render_only and any(one.missing for one in made):
        raise typer.Exit(1)


def _make_claims(request: "Request", as_json: bool) -> None:
    from nmrgcl.reproduce.claims import tally
    from nmrgcl.reproduce.request import make_claims, require_for_all

    require_for_all(request, computing=False)
    path, made = make_claims(request)
    if as_json:
        items = [{**one.plan.to_dict(), "verdicts": [_with_rule(v) for v in one.verdicts]} for one in made]
        print(json.dumps({"page": str(path), "scores": str(path.with_suffix(".csv")), "items": items}))
        return
    for one in made:
        print(*(f"{one.plan.label:<8} {v.outcome:<13} {v.claim}" for v in one.verdicts), sep="\n")
    print(tally(made), path, path.with_suffix(".csv"), sep="\n")


def _with_rule(verdict: "Verdict") -> dict[str, Any]:
    return verdict.to_dict() | {"would_change": verdict.would_change}


def _tell_costs(item: str, request: "Request", as_json: bool) -> None:
    from nmrgcl.reproduce import find_item
    from nmrgcl.reproduce.request import cost_of, items, require_for_all

    if item == "all":
        require_for_all(request)
    costs = [cost_of(one, request) for one in (items() if item == "all" else [find_item(item)])]
    if as_json:
        print(json.dumps({"items": costs} if item == "all" else costs[0]))
        return
    for cost in costs:
        print(f"{cost['item']}{'-quick' if cost['quick'] else ''}: {cost['cost']}")


def _list(as_json: bool) -> None:
    from nmrgcl.reproduce.request import items

    if as_json:
        facts = [{"item": i.name, "title": i.title, "cost": i.cost, "claims": list(i.claims)} for i in items()]
        print(json.dumps({"items": facts}))
        return
    for one in items():
        print(f"{one.name:<9} {one.title}\n{'':<9} {one.cost}")


def _facts(made: "Made") -> dict[str, Any]:
    files = {"page": str(made.page), "figures": [str(p) for p in made.pictures], "rows": str(made.rows)}
    verdicts = {"verdicts": [verdict.to_dict() for verdict in made.verdicts]}
    return {**made.plan.to_dict(), "missing": made.missing, **verdicts, **files, "texts": [str(p) for p in made.texts]}


def _tell(made: "Made") -> None:
    """Print a table as Markdown, or the verdicts and tables of a figure."""
    for text in made.texts:
        if text.suffix == ".md":
            print(reading.read_text(text))
            print(made.page)
            return
    quick = " (quick version)" if made.plan.quick else ""
    extent = f": {made.scores.extent}" if made.scores and made.item.axes else ""
    print(f"{made.item.title}{quick}{extent}")
    for verdict in made.verdicts:
        print(f"{verdict.outcome:<13}  {verdict.claim}\n{'':<13}  {verdict.sentence}")
    if made.scores:
        from nmrgcl.report.grid import as_markdown

        print(*(f"\n{as_markdown(grid)}" for grid in made.item.grids(made.plan, made.scores)), sep="", end="")
    print(made.page)
