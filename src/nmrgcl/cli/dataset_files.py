"""``nmrgcl datasets fetch | verify | import | export | pack``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.counted import counted
from nmrgcl.cli.dataset_shards import import_shards
from nmrgcl.cli.molecules import LISTED, OnInvalid, Smiles
from nmrgcl.cli.options import Address, AsJson, Data, Jobs, Quiet, TaskBackend, refuse_task_options
from nmrgcl.errors import DataError, SettingError

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False)]


def fetch(
    names: Names = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fetch datasets into the cache: download missing files, verify them, and keep the datasets as stores.

    Without names, all datasets of the catalog are fetched.

    Examples:

      nmrgcl datasets fetch MUTAG PubMed
    """
    from nmrgcl.cli.downloads import downloads
    from nmrgcl.data.catalog import CATALOG
    from nmrgcl.data.loading import known, load

    wanted = names or [entry.name for entry in CATALOG]
    for name in wanted:
        if known(name) is None and name.lower() != "motifs":
            load(name)  # raises an error that suggests similar names
    rows: list[dict[str, Any]] = []
    for name in wanted:
        try:
            with downloads(quiet=quiet) as progress, counted("molecules", quiet=quiet) as watch:
                dataset = load(name, progress=progress, watch=watch)
            graphs, nodes, edges = dataset.counts
            rows.append({"name": dataset.name, "graphs": graphs, "nodes": nodes, "edges": edges // 2})
            rows[-1] |= {"source": dataset.source, "error": None}
            told = f"{dataset.name}: {graphs} graphs, {nodes} nodes, {edges // 2} edges, from {dataset.source}"
        except DataError as error:
            if len(wanted) == 1:
                raise
            rows.append({"name": name, "error": str(error)})
            told = f"{name}: {error}"
        if not as_json:
            print(told)
    if as_json:
        print(json.dumps({"datasets": rows}))
    if failed := sum(row["error"] is not None for row in rows):
        raise DataError(f"{failed} of {len(wanted)} datasets could not be fetched; see above")


def verify(names: Names = None, as_json: AsJson = False) -> None:
    """Compare the statistics of datasets with the published ones, counting edges as each publication does.

    Files are also compared with the SHA-256 of the published files, if known. Without names, all datasets of the
    catalog with local files are verified. Exits with 1 if a number or a file differs.

    Examples:

      nmrgcl datasets verify

      nmrgcl datasets verify COLLAB --json
    """
    from nmrgcl.data.catalog import CATALOG, find, known_names
    from nmrgcl.data.loading import load_entry
    from nmrgcl.data.locate import locate
    from nmrgcl.data.published_files import differing_files, published_files
    from nmrgcl.data.verify import compare
    from nmrgcl.errors import nearest

    entries = []
    for name in names or [entry.name for entry in CATALOG]:
        entry = find(name)
        if entry is None:
            raise SettingError(f"the catalog has no published statistics of {name!r}; {nearest(name, known_names())}")
        entries.append(entry)
    rows: list[dict[str, Any]] = []
    absent = []
    for entry in entries:
        if (source := locate(entry)) is None:
            absent.append(entry.name)
            continue
        with counted("molecules") as watch:
            found = compare(load_entry(entry, source, check=False, watch=watch), entry)
        differing = differing_files(entry.name, source)
        ok = found.ok and not differing
        rows.append({"name": found.name, "ok": ok, "measured": found.measured, "published": found.published})
        rows[-1] |= {"edges_counted": found.counted, "note": found.note}
        rows[-1] |= {"files_known": len(published_files(entry.name)), "files_differing": differing}
        if not as_json:
            _print_comparison(rows[-1])
    if as_json:
        print(json.dumps({"datasets": rows, "not_at_hand": absent}))
    elif absent:
        print(f"not available locally: {', '.join(absent)}; nmrgcl datasets fetch downloads them")
    if not all(row["ok"] for row in rows) or (names and absent):
        raise typer.Exit(1)


def import_dataset(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...", help="File or folder of graphs, or several files of molecules.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The store to write; with --shards, a folder of stores.", show_default=False)
    ],
    nodes: Annotated[Path | None, typer.Option(help="CSV of nodes, for an edge list.")] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of graphs (edge list), .npy (npz), or label columns (molecules), for example a,b."),
    ] = None,
    features: Annotated[Path | None, typer.Option(help="Node features (.npy, .npz), for an .npz.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the dataset.")] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Keep the direction of edges.")] = False,
    smiles: Smiles = None,
    invalid: OnInvalid = None,
    shards: Annotated[
        int, typer.Option(min=0, help="Import a .smi file as this many stores; 0: as one.", show_default=False)
    ] = 0,
    backend: TaskBackend = "processes",
    address: Address = None,
    jobs: Jobs = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Import your own graphs into a store, which has checksums, opens instantly, and loads like any other dataset.

    SOURCE is a TU folder or archive, .jsonl, an edge list (.csv, or a folder with edges.csv, nodes.csv, graphs.csv),
    .graphml or .gml (a file or a folder of them), an adjacency matrix (.npz), or molecules: a .csv, .tsv or .parquet
    with a SMILES column, .smi or .sdf, optionally compressed as .gz or .xz. Several files of molecules are joined into
    one dataset; repeated molecules are counted and kept. With --shards, each range of lines of a .smi file becomes a
    store, written by one worker; merging these gives the same store, and the same command again continues.

    Examples:

      nmrgcl datasets import graphs.jsonl --out my-graphs

      nmrgcl datasets import edges.csv --nodes nodes.csv --labels graphs.csv --out my-graphs

      nmrgcl datasets import molecules.csv --smiles structure --out my-molecules

      nmrgcl datasets import first.smi second.smi.gz --out both

      nmrgcl datasets import large.smi --shards 64 --out library --backend ray --address 10.0.0.1:6379
    """
    from nmrgcl.data.read import import_paths

    for source in sources:
        if not source.exists():
            raise DataError(f"{source}: no such file or folder")
    files = {"nodes": nodes, "labels": labels, "features": features}
    if shards:
        given = [*(key for key, value in {**files, "directed": directed, "smiles": smiles}.items() if value)]
        if given or len(sources) > 1:
            told = f"--{given[0]}" if given else "several files"
            raise SettingError(f"{told}: not with --shards, which is for one .smi file")
        where = (backend, address, jobs)
        import_shards(sources[0], out, shards, name=name, invalid=invalid, where=where, quiet=quiet, as_json=as_json)
        return
    refuse_task_options(backend, address, jobs, "add --shards")
    options: dict[str, Any] = {**files, "name": name, "keep_directions": directed, "smiles": smiles, "invalid": invalid}
    with counted("molecules", quiet=quiet) as watch:
        dataset = import_paths(sources, out, watch=watch, **options)
    graphs, node_count, edges = dataset.counts
    facts = {
        "store": str(out),
        "graphs": graphs,
        "nodes": node_count,
        "edges": edges,
        "self_loops_left_out": dataset.self_loops,
        "repeated_edges_merged": dataset.duplicate_edges,
        "reverses_added": dataset.one_way_edges,
        "labels_missing": 0 if dataset.y is None else int((dataset.y < 0).sum()),
    }
    molecules = dataset.molecules
    if molecules is not None:
        facts |= {"tasks": len(molecules.tasks), "invalid_rows": molecules.skipped}
        if len(sources) > 1:
            facts["repeated_molecules"] = len(molecules) - len(set(molecules.smiles))
    if as_json:
        print(json.dumps(facts))
        return
    print(f"{out}: {graphs} graphs, {node_count} nodes, {edges} directed edges, {len(dataset.classes)} classes")
    for what in ("self_loops_left_out", "repeated_edges_merged", "reverses_added", "labels_missing"):
        if facts[what]:
            print(f"  {what.replace('_', ' ')}: {facts[what]}")
    if repeated := facts.get("repeated_molecules"):
        print(f"  molecules that repeat the SMILES of an earlier one, and are kept: {repeated}")
    if molecules is not None and molecules.skipped:
        print(f"  rows that are not molecules: {molecules.skipped} of {molecules.rows}")
        for one in molecules.invalid[:LISTED]:
            print(f"    line {one.row}, {one.text!r}: {one.reason}")


def export_dataset(
    data: Data,
    out: Annotated[Path, typer.Option(help="The file to write, ending in .jsonl.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Export a dataset as JSON Lines, one graph per line, which ``import`` reads back.

    Examples:

      nmrgcl datasets export MUTAG --out mutag.jsonl
    """
    from nmrgcl.data.formats.jsonl_export import write_jsonl
    from nmrgcl.data.loading import load

    if out.suffix != ".jsonl":
        raise SettingError(f"{out}: the ending must be .jsonl")
    dataset = load(data)
    write_jsonl(dataset, out)
    graphs = dataset.counts[0]
    print(json.dumps({"out": str(out), "graphs": graphs}) if as_json else f"{out}: {graphs} graphs")


def pack_dataset(
    data: Data,
    out: Annotated[Path, typer.Option(help="The file to write, ending in .molecules.", show_default=False)],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Pack molecules and their graphs into one small file, which can be read without RDKit.

    The file can be used as DATA like any other; on first use, it is expanded to a store within seconds.

    Examples:

      nmrgcl datasets pack molecules.csv --out small.molecules
    """
    from nmrgcl.data.loading import load
    from nmrgcl.data.molecules.archive import pack_molecules

    with counted("molecules", quiet=quiet) as watch:
        dataset = load(data, watch=watch)
    with counted("molecules", quiet=quiet) as watch:
        pack_molecules(dataset, out, watch=watch)
    count, size = dataset.counts[0], out.stat().st_size
    if as_json:
        print(json.dumps({"out": str(out), "molecules": count, "bytes": size}))
    else:
        print(f"{out}: {count} molecules in {size:,} bytes, {size / max(count, 1):.1f} each")


def _print_comparison(row: dict[str, Any]) -> None:
    def shown(values: dict[str, float]) -> str:
        return ", ".join(f"{round(value, 2):g} {key}" for key, value in values.items())

    known = f"; {row['files_known']} files by SHA-256" if row["files_known"] else ""
    note = f"; {row['note']}" if row["note"] else ""
    mark = "ok " if row["ok"] else "NOT"
    print(f"{mark} {row['name']}: {shown(row['measured'])} (edges: {row['edges_counted']}){known}{note}")
    if not row["ok"]:
        print(f"    published: {shown(row['published'])}")
    if row["files_differing"]:
        print(f"    missing or changed: {', '.join(row['files_differing'])}")
