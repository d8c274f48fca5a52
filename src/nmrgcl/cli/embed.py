"""``nmrgcl embed``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import OnInvalid, Smiles, load_unnamed, load_with, tell_skipped
from nmrgcl.cli.options import Address, AsJson, Device, Jobs, TaskBackend, refuse_task_options
from nmrgcl.cli.outputs import require_out
from nmrgcl.errors import SettingError


def embed(
    first: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|DATA",
            help="Model folder, run of one model, or bundled. With molecules as only argument: the bundled encoder.",
            show_default=False,
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Dataset name, a file or folder, or a folder of stores.",
            show_default=False,
            autocompletion=complete_dataset,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File to write: .npz, .csv or .parquet; for a folder of stores, a folder.")
    ] = Path("embeddings.npz"),
    unknown: Annotated[
        str, typer.Option(metavar="error|zero", help="How to treat node or edge labels unknown to the model.")
    ] = "error",
    normalise: Annotated[
        str,
        typer.Option(metavar="none|l2|standardise|squash", help="How to scale the embeddings."),
    ] = "none",
    smiles: Smiles = None,
    invalid: OnInvalid = None,
    backend: TaskBackend = "processes",
    address: Address = None,
    jobs: Jobs = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed graphs or nodes, including new ones: one row per graph or node, in the order of the dataset.

    Rows of molecules also contain their identifiers and SMILES. evaluate, diagnose and neighbours expect unscaled
    embeddings (none); for clustering use l2, for most other purposes squash. A folder of stores becomes a folder of
    Parquet files, one per store; the column key counts all graphs. The same command again continues.

    Examples:

      nmrgcl embed runs/mutag/seed-0 MUTAG --out z.npz

      nmrgcl embed runs/mutag/seed-0 path/to/MORE_GRAPHS.zip --unknown zero --out z.csv

      nmrgcl embed runs/mutag/seed-0 MUTAG --normalise l2 --out z.npz

      nmrgcl embed molecules.csv --out z.parquet

      nmrgcl embed runs/zinc/seed-0 molecules.csv --out z.parquet

      nmrgcl embed bundled zinc-shards --out z --backend ray --address 10.0.0.1:6379
    """
    from dataclasses import replace

    from nmrgcl.data.library import is_library
    from nmrgcl.evaluate.normalise import require_word
    from nmrgcl.model_folder import load_model
    from nmrgcl.run.embeddings import embed_dataset, embed_in_parts, with_scale, write_embeddings
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.model_folders import find_model
    from nmrgcl.run.molecules import require_molecules

    if unknown not in ("error", "zero"):
        raise SettingError(f"--unknown {unknown}: known: error, zero")
    scale = require_word(normalise, "--normalise")
    model, data = (None, first) if second is None else (first, second)
    if is_library(Path(data)):
        if smiles or invalid:
            raise SettingError("--smiles and --invalid: are for files of molecules, not for a folder of stores")
        _embed_library(model, Path(data), out, unknown, scale, (backend, address, jobs, device), as_json)
        return
    refuse_task_options(backend, address, jobs, "make one with nmrgcl store shard")
    require_out(out, data)
    where = choose_device(device)
    loaded = replace(load_unnamed() if model is None else load_model(find_model(model)), normalise=scale)
    dataset = load_with(data, smiles, invalid)
    facts: dict[str, Any]
    if dataset.molecules is None:
        if model is None:
            raise SettingError(f"{data}: these graphs are not molecules; pass a MODEL of such graphs first")
        found = embed_dataset(loaded, dataset, where, unknown=cast(Literal["error", "zero"], unknown))
        write_embeddings(with_scale(found, loaded), out)
        (rows, width), what = found.z.shape, f"{loaded.settings.level}s"
        facts = {"labelled": found.y is not None}
    else:
        require_molecules(loaded, str(model))
        with counted("molecules") as watch:
            parts = embed_in_parts(loaded, dataset, where, watch)
            write_embeddings((with_scale(part, loaded) for part in parts), out)
        rows = dataset.molecules
        tell_skipped(data, rows.skipped, rows.rows, rows.invalid)
        rows, width, what = len(dataset.molecules), loaded.method.full_width, "molecules"
        facts = {"labelled": dataset.molecules.binary, "skipped": dataset.molecules.skipped}
    if as_json:
        print(json.dumps({"out": str(out), what: rows, "dimensions": width, "normalise": loaded.normalise, **facts}))
    else:
        how = "" if loaded.normalise == "none" else f", normalise={loaded.normalise}"
        print(f"{rows} {what}, {width} dimensions{how}, in {out}")


def _embed_library(
    model: str | None,
    library: Path,
    out: Path,
    unknown: str,
    normalise: str,
    where: tuple[str, str | None, int, str],
    as_json: bool,
) -> None:
    from nmrgcl.data.library import stores_of
    from nmrgcl.run.bundled import BUNDLED
    from nmrgcl.run.embed_library import embed_library, missing_tasks, plan_library
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.model_folders import find_model
    from nmrgcl.run.tasks import require_backend

    backend, address, jobs, device = where
    require_backend(backend, address)
    if out.suffix or out.is_file():
        raise SettingError(f"--out {out}: {library} is a folder of stores; name a folder for their embeddings")
    # Workers of Ray may be on machines with other devices, and choose for themselves.
    if backend != "ray":
        device = choose_device(device).type
    options: dict[str, Any] = {"device": device, "unknown": unknown, "normalise": normalise}
    tasks = plan_library(find_model(BUNDLED if model is None else model), stores_of(library), out, **options)
    missing = missing_tasks(tasks)
    failed = []
    with counted("stores") as watch:
        found = embed_library(missing, out, backend=backend, address=address, jobs=jobs, device=device)
        for done, outcome in enumerate(found, 1):
            failed += [outcome] if outcome.error else []
            if watch is not None:
                watch(done, len(missing))
    for outcome in failed:
        print(f"{outcome.store}: {outcome.error}", file=sys.stderr)
    facts = {"out": str(out), "stores": len(tasks), "embedded": len(missing) - len(failed), "failed": len(failed)}
    if as_json:
        print(json.dumps(facts))
    else:
        there = f", {len(tasks) - len(missing)} were there" if len(missing) < len(tasks) else ""
        print(f"{facts['embedded']} of {len(tasks)} stores embedded{there}, in {out}")
    if failed:
        raise SettingError(f"{len(failed)} of {len(tasks)} stores failed; see above, and run the same command again")
