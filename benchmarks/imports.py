"""Time and peak memory of the first import of every available dataset, compared with PyTorch Geometric's loader.

    NMRGCL_MIRROR=… python benchmarks/imports.py                # writes benchmarks/results/imports.json
    NMRGCL_MIRROR=… python benchmarks/imports.py COLLAB         # only prints

Each measurement is a separate process with one thread and an empty cache; reading starts from the compressed archive
and ends with a checksummed store (ours) or the processed file (PyG, whose raw files are unpacked beforehand, which is
not timed). "Second" is opening the dataset again in a fresh process. Both must agree on nodes and directed edges.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "imports.json"


def ours(name: str) -> dict[str, Any]:
    """The cost of loading ``name`` in a fresh process."""
    from nmrgcl.data.loading import load

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    dataset = load(name)
    seconds = time.perf_counter() - began
    _, nodes, edges = dataset.counts
    return {"seconds": seconds, "nodes": nodes, "edges": edges, **_memory(before)}


def pyg(name: str, root: str) -> dict[str, Any]:
    """The cost of loading ``name`` with PyG in a fresh process."""
    import torch
    from torch_geometric.datasets import Amazon, Coauthor, Planetoid, TUDataset

    torch.set_num_threads(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    kind, _, rest = name.partition("-")
    if name == "PubMed":
        data = Planetoid(root, name)
    elif kind in ("Amazon", "Coauthor"):
        data = {"Amazon": Amazon, "Coauthor": Coauthor}[kind](root, rest)
    else:
        data = TUDataset(root, name, use_node_attr=True)
    seconds = time.perf_counter() - began
    edges = int(data._data.edge_index.shape[1])
    return {"seconds": seconds, "nodes": int(data._data.num_nodes), "edges": edges, **_memory(before)}


def _memory(before: int) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak_mb": peak / 1024, "of_which_libraries_mb": before / 1024}


def unpack(source: Path, name: str, root: Path) -> None:
    """Lay the raw files out as PyG's loader expects them."""
    from nmrgcl.data.files.archive import members

    folder = {"Amazon-Photo": "Photo", "Amazon-Computers": "Computers", "Coauthor-CS": "CS"}.get(name, name)
    raw = root / folder / "raw"
    raw.mkdir(parents=True)
    if source.suffix == ".npz":
        (raw / source.name).write_bytes(source.read_bytes())
        return
    for file, stream in members(source, lambda _: True):
        with (raw / file).open("wb") as out:
            while chunk := stream.read(1 << 24):
                out.write(chunk)


def in_fresh_process(*arguments: str, home: str) -> dict[str, Any]:
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NMRGCL_HOME": home}
    answer = subprocess.run(
        [sys.executable, __file__, "--one", *arguments],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise SystemExit(answer.stderr)
    return dict(json.loads(answer.stdout))


def main() -> None:
    """Print one row per dataset; without names, also write the results."""
    from nmrgcl.data.catalog import CATALOG, find
    from nmrgcl.data.locate import locate

    # Molecules have no archive that PyG's loaders read; benchmarks/featurise.py measures them.
    names = sys.argv[1:] or [entry.name for entry in CATALOG if entry.tasks is None]
    rows = {}
    print(
        f"{'dataset':<17} {'first':>9} {'peak':>9} {'second':>9}   {'PyG first':>9} {'peak':>9} {'second':>9}   ratio"
    )
    for name in names:
        entry = find(name)
        source = locate(entry) if entry else None
        if entry is None or source is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            found = {"ours": in_fresh_process("ours", entry.name, home=f"{scratch}/home")}
            found["ours_second"] = in_fresh_process("ours", entry.name, home=f"{scratch}/home")
            unpack(source, entry.name, Path(scratch) / "pyg")
            found["pyg"] = in_fresh_process("pyg", entry.name, f"{scratch}/pyg", home=scratch)
            found["pyg_second"] = in_fresh_process("pyg", entry.name, f"{scratch}/pyg", home=scratch)
        sizes = {key: (row["nodes"], row["edges"]) for key, row in found.items()}
        if len(set(sizes.values())) != 1:
            raise SystemExit(f"{entry.name}: the loaders disagree on nodes and edges: {sizes}")
        rows[entry.name] = found
        print(f"{entry.name:<17} {_row(found, 'ours')}   {_row(found, 'pyg')}   {_ratio(found):.1f}", flush=True)
    if len(sys.argv) == 1:
        machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
        RESULTS.write_text(json.dumps({**machine, "threads": 1, "datasets": rows}, indent=1) + "\n")


def _row(found: dict[str, Any], who: str) -> str:
    first, second = found[who], found[f"{who}_second"]
    return f"{first['seconds']:>7.2f} s {first['peak_mb']:>6.0f} MB {second['seconds']:>7.3f} s"


def _ratio(found: dict[str, Any]) -> float:
    return float(found["pyg"]["seconds"] / found["ours"]["seconds"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(ours(*sys.argv[3:]) if sys.argv[2] == "ours" else pyg(*sys.argv[3:])))
    else:
        main()
