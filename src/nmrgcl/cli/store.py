"""``nmrgcl store``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.command import Command, Group
from nmrgcl.cli.counted import counted
from nmrgcl.cli.options import AsJson, Quiet
from nmrgcl.errors import DataError

app = typer.Typer(
    help="Split, merge and verify stores; a folder of stores is a library.", no_args_is_help=True, cls=Group
)

Stores = Annotated[
    list[Path], typer.Argument(metavar="STORE...", help="Stores, or folders of stores.", show_default=False)
]


@app.command(cls=Command)
def shard(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The store to split.", show_default=False)],
    shards: Annotated[int, typer.Option(min=1, help="Number of shards.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the shards.", show_default=False)],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Split a store into shards of nearly equal size, DIR/shard-00000 and so on; merging them restores every file.

    Examples:

      nmrgcl store shard zinc --shards 16 --out zinc-shards
    """
    from nmrgcl.data.shards import shard_store

    with counted("graphs", quiet=quiet) as watch:
        folders = shard_store(store, out, shards, watch=watch)
    if as_json:
        print(json.dumps({"out": str(out), "shards": [str(folder) for folder in folders]}))
    else:
        print(f"{out}: {len(folders)} {'shard' if len(folders) == 1 else 'shards'}")


@app.command(cls=Command)
def merge(
    stores: Stores,
    out: Annotated[Path, typer.Option(metavar="STORE", help="The store to write.", show_default=False)],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Merge stores of the same format into one, in the given order; the shards of one store are put in their order.

    Examples:

      nmrgcl store merge zinc-shards --out zinc

      nmrgcl store merge january february --out both
    """
    from nmrgcl.data.library import stores_of
    from nmrgcl.data.shards import merge_stores

    folders = [folder for path in stores for folder in stores_of(path)]
    with counted("graphs", quiet=quiet) as watch:
        graphs, nodes, edges = merge_stores(folders, out, watch=watch).counts
    if as_json:
        print(json.dumps({"out": str(out), "stores": len(folders), "graphs": graphs, "nodes": nodes, "edges": edges}))
    else:
        print(f"{out}: {graphs} graphs, {nodes} nodes, {edges} directed edges, from {len(folders)} stores")


@app.command(cls=Command)
def verify(stores: Stores, as_json: AsJson = False) -> None:
    """Verify every file of stores: format, checksums, indices and pairs of edges, labels, and that no shard is missing.

    Examples:

      nmrgcl store verify zinc

      nmrgcl store verify zinc-shards --json
    """
    from nmrgcl.data.library import stores_of
    from nmrgcl.data.shards import require_belonging, verify_store

    rows: list[dict[str, Any]] = []
    for path in stores:
        folders, intact = stores_of(path), []
        for folder in folders:
            try:
                found = verify_store(folder)
                intact.append(found)
                told = f"ok  {folder}: {found.graphs} graphs, {found.nodes} nodes, {found.edges} directed edges"
                counts = {"graphs": found.graphs, "nodes": found.nodes, "edges": found.edges}
                rows.append({"store": str(folder), **counts, "error": None})
            except DataError as error:
                if len(stores) == len(folders) == 1:
                    raise
                told = f"NOT {error}"
                rows.append({"store": str(folder), "error": str(error)})
            if not as_json:
                print(told, flush=True)
        if len(folders) == len(intact) > 1:
            require_belonging(intact, str(path))
    if as_json:
        print(json.dumps({"stores": rows}))
    if damaged := sum(row["error"] is not None for row in rows):
        raise DataError(f"{damaged} of {len(rows)} stores are damaged; see above")
