"""``nmrgcl datasets``."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.command import Command, Group
from nmrgcl.cli.counted import counted
from nmrgcl.cli.dataset_files import export_dataset, fetch, import_dataset, pack_dataset, verify
from nmrgcl.cli.options import AsJson, Data

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset

SHOWN = 30
"""Number of entries of a list that are printed; ``--json`` has all."""

app = typer.Typer(help="Manage datasets: named ones, and your own graphs.", no_args_is_help=True, cls=Group)
app.command("fetch", cls=Command)(fetch)
app.command("verify", cls=Command)(verify)
app.command("import", cls=Command)(import_dataset)
app.command("export", cls=Command)(export_dataset)
app.command("pack", cls=Command)(pack_dataset)


@app.command("list", cls=Command)
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that load by name, with their published statistics.

    Examples:

      nmrgcl datasets list
    """
    from nmrgcl.data.catalog import CATALOG
    from nmrgcl.data.locate import locate
    from nmrgcl.data.tu_names import TU_NAMES

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "aliases": list(entry.aliases),
            "task": entry.level,
            "graphs": entry.graphs,
            "nodes": entry.nodes,
            "edges": entry.edges,
            "classes": entry.classes,
            "features": entry.features,
            "tasks": entry.tasks,
            "at_hand": locate(entry) is not None,
        }
        for entry in CATALOG
    ]
    if as_json:
        print(json.dumps({"datasets": rows, "also": [*TU_NAMES, "motifs"]}))
        return
    numbers = f"{'graphs':>7} {'nodes':>9} {'edges':>10} {'classes':>7} {'tasks':>5}"
    print(f"{'name':<16} {'task':<5} {numbers}  at hand  also known as")
    for row in rows:
        tasks = "" if row["tasks"] is None else row["tasks"]
        numbers = f"{row['graphs']:>7} {row['nodes']:>9.2f} {row['edges']:>10.2f} {row['classes']:>7} {tasks:>5}"
        here = "yes" if row["at_hand"] else "no"
        print(f"{row['name']:<16} {row['task']:<5} {numbers}  {here:<7}  {', '.join(row['aliases'])}".rstrip())
    print("motifs           synthetic: cycles, cliques and stars planted in random graphs; always available")
    print(f"and {len(TU_NAMES)} more datasets of the TU collection, such as {', '.join(TU_NAMES[12:16])}")


@app.command(cls=Command)
def info(
    data: Data,
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Also compute the highest accuracy that message passing can reach.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the measured sizes, degrees, features and classes of a dataset, and its published statistics.

    With --ceiling, graphs that message passing cannot tell apart are counted: of these, at most those of the most
    frequent class can be classified correctly, by any such encoder or by a Weisfeiler-Lehman kernel.

    Examples:

      nmrgcl datasets info MUTAG

      nmrgcl datasets info IMDB-MULTI --ceiling

      nmrgcl datasets info path/to/MY_GRAPHS.zip --json
    """
    from nmrgcl.data.catalog import find
    from nmrgcl.data.loading import load
    from nmrgcl.data.measure import measure
    from nmrgcl.data.verify import compare

    with counted("molecules") as watch:
        dataset = load(data, watch=watch)
    facts = measure(dataset)
    entry = find(dataset.name)
    if entry is not None:
        comparison = compare(dataset, entry)
        facts["published"] = comparison.published
        facts["edges_as_published"] = {"counted": entry.counted, "measured": round(comparison.measured["edges"], 2)}
        facts |= {"note": entry.note, "licence": entry.licence, "citation": entry.citation}
    if ceiling:
        facts["message_passing"] = _ceiling(dataset)
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        if value not in ("", None):
            text = _listed(value) if isinstance(value, dict) else value
            print(f"{name.replace('_', ' '):<18} {text}")


def _ceiling(dataset: "Dataset") -> dict[str, Any]:
    from nmrgcl.data.features import apply_features, choose_features
    from nmrgcl.errors import SettingError
    from nmrgcl.words.ceiling import message_passing_ceiling

    if dataset.level != "graph" or dataset.y is None or not dataset.classes:
        raise SettingError(f"--ceiling: {dataset.name} is not a dataset of graphs with classes")
    by = "constant" if dataset.node_labels is None else "labels"
    found = message_passing_ceiling(apply_features(dataset, choose_features(dataset, by)), dataset.y)
    return {"node_features": by, **found.to_dict()}


def _listed(values: dict[Any, Any]) -> str:
    more = f", … ({len(values)} in all)" if len(values) > SHOWN else ""
    return ", ".join(f"{key}: {value}" for key, value in list(values.items())[:SHOWN]) + more
