"""``nmrgcl reproduce``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl import reading
from nmrgcl.cli.completion import complete_dataset, complete_item, complete_preset
from nmrgcl.cli.options import AsJson, Assignments, Device, KeepTrained
from nmrgcl.cli.results import HOME, Folder

if TYPE_CHECKING:
    from nmrgcl.reproduce.item_page import Made
    from nmrgcl.reproduce.request import Request


def reproduce(
    item: Annotated[
        str | None,
        typer.Argument(
            metavar="[ITEM]", help="For example table1, or all. (default: list them)", autocompletion=complete_item
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, marked as such; minutes on a laptop.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="DATASET", help="These datasets instead of the item's.", autocompletion=complete_dataset),
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, max=10_000, help="Trials of each cell; 0: the item's.")] = 0,
    protocol: Annotated[
        str, typer.Option(metavar="svm|lssvm", help="How embeddings are judged. (default: the item's)")
    ] = "",
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A table's recipe where a row has none of its own. (default: the table's)",
            autocompletion=complete_preset,
        ),
    ] = "",
    row: Annotated[list[str] | None, typer.Option(metavar="NAME", help="These rows of a table alone.")] = None,
    selection: Annotated[
        str, typer.Option(metavar="honest|paper", help="One selection of a table alone. (default: both)")
    ] = "",
    most_epochs: Annotated[int, typer.Option(min=0, help="At most so many for each row of a table; 0: its own.")] = 0,
    assignments: Assignments = None,
    results: Folder = HOME,
    jobs: Annotated[int, typer.Option(min=0, help="Cells at a time; 0: as many as suit the machine.")] = 0,
    device: Device = "auto",
    limit: Annotated[
        float, typer.Option(min=0, help="End after so many seconds with what is finished; the same command goes on.")
    ] = 0,
    keep_trained: KeepTrained = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; compute nothing.")] = False,
    render_only: Annotated[bool, typer.Option("--render-only", help="Draw what is there; compute nothing.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="The item's .json of another run: what it has is there; for all a folder of them.",
        ),
    ] = None,
    searches: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of what nmrgcl tune found: nested scores of a table's tuned row."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for page, figures and rows.")] = Path(
        "runs/reproduce"
    ),
    as_json: AsJson = False,
) -> None:
    """Compute a table or figure of the paper again: its cells, what it shows, and a verdict for each of its claims.

    Says what it costs before it starts; what is finished is never computed again, and what is missing is drawn as
    missing. Prints a table as Markdown, and of a figure the verdicts. Writes ITEM.html, ITEM.svg and ITEM.json into
    --out, and of a table also ITEM.md, ITEM.tex and ITEM.csv; all makes every item and index.html. Exits with 1 if
    cells are missing at the end.

    Examples:

      nmrgcl reproduce

      nmrgcl reproduce table1 --quick

      nmrgcl reproduce table1 --row nmrGCL --row GraphCL --only NCI1 --dry-run

      nmrgcl reproduce all --render-only --from results --out site

      nmrgcl reproduce figure8 --only NCI1 --seeds 2 --dry-run

      nmrgcl reproduce figure8 --render-only --from results/figure8.json --out figures --json
    """
    from nmrgcl.reproduce.compute import Computing
    from nmrgcl.reproduce.request import Request

    how = Computing(results, device, jobs, render_only, limit, keep_trained)
    of_tables = {"preset": preset, "rows": row or (), "selection": selection, "most_epochs": most_epochs}
    options = {"only": only or (), "protocol": protocol, "assignments": assignments or (), **of_tables}
    request = Request(how, out, quick, seeds, options, source, searches)
    if item is None:
        _list(as_json)
    elif dry_run:
        _tell_costs(item, request, as_json)
    else:
        _make(item, request, as_json)


def _make(item: str, request: "Request", as_json: bool) -> None:
    from nmrgcl.cli.cells import show_cells
    from nmrgcl.reproduce import find_item
    from nmrgcl.reproduce.request import make, make_all, require_for_all
    from nmrgcl.run.interrupt import Interrupted

    index, ways = None, {"say": _say, "progress": show_cells}
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
    """Print a table as its Markdown file has it, and of a figure the verdicts."""
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
    print(made.page)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
