"""``nmrgcl datasets import --shards``."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import LISTED
from nmrgcl.errors import DataError, SettingError

if TYPE_CHECKING:
    from nmrgcl.run.import_library import ImportTask


def import_shards(
    source: Path,
    out: Path,
    shards: int,
    *,
    name: str | None,
    invalid: str | None,
    where: tuple[str, str | None, int],
    quiet: bool,
    as_json: bool,
) -> None:
    """Import a file of SMILES as a folder of stores; ``where`` are the backend, its address and its jobs."""
    from nmrgcl.run.import_library import import_library, missing_shards, plan_import
    from nmrgcl.run.tasks import require_backend

    backend, address, jobs = where
    require_backend(backend, address)
    if invalid not in (None, "skip", "error"):
        raise SettingError(f"--invalid {invalid}: known: skip, error")
    tasks = plan_import(source, out, shards, name=name, strict=invalid == "error")
    missing = missing_shards(tasks)
    failed = []
    with counted("shards", quiet=quiet) as watch:
        for done, outcome in enumerate(import_library(missing, out, backend=backend, address=address, jobs=jobs), 1):
            if outcome.error and invalid == "error":
                raise DataError(outcome.error)
            failed += [outcome] if outcome.error else []
            if watch is not None:
                watch(done, len(missing))
    for outcome in failed:
        print(f"{outcome.out}: {outcome.error}", file=sys.stderr)
    absent = {outcome.out for outcome in failed}
    facts = {"library": str(out), "shards": shards, "written": len(missing) - len(failed), "failed": len(failed)}
    _tell(facts | _counts(task for task in tasks if task.out not in absent), as_json)
    if failed:
        raise SettingError(f"{len(failed)} of {shards} shards failed; see above, and run the same command again")


def _counts(tasks: "Iterable[ImportTask]") -> dict[str, Any]:
    """Add up what the shards contain; the invalid rows that they list have their lines in the file."""
    from nmrgcl.data.shards import store_facts

    found = [store_facts(task.out) for task in tasks]
    counts = {name: sum(getattr(one, name) for one in found) for name in ("graphs", "nodes", "edges")}
    notes = [one.meta["molecules"] for one in found]
    rows = sum(note["rows"] for note in notes)
    listed = [dict(zip(("line", "smiles", "reason"), one, strict=True)) for note in notes for one in note["invalid"]]
    return {**counts, "rows": rows, "invalid_rows": rows - counts["graphs"], "invalid": listed}


def _tell(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts))
        return
    there = facts["shards"] - facts["written"] - facts["failed"]
    print(
        f"{facts['library']}: {facts['written']} of {facts['shards']} shards written"
        + (f", {there} were there" if there else "")
        + f"; {facts['graphs']} graphs, {facts['nodes']} nodes, {facts['edges']} directed edges"
    )
    if facts["invalid_rows"]:
        print(f"  rows that are not molecules: {facts['invalid_rows']} of {facts['rows']}")
        for one in facts["invalid"][:LISTED]:
            print(f"    line {one['line']}, {one['smiles']!r}: {one['reason']}")
