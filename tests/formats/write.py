"""Write a small file of every format, by the commands that users run.

``python -m tests.formats.write FOLDER`` writes them to a new folder. Those in ``tests/formats/files`` stay as they are:
a format that changes gets a new version and further files.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from typer.testing import CliRunner

from nmrgcl import GraphEmbedder
from nmrgcl.cli import app

SMALL = {"encoder.layers": 1, "encoder.units": 4, "epochs": 1}
GRAPHS = [
    {"id": "edge", "edges": [[0, 1]], "edge_weight": [0.5], "x": [[1, 2], [3, 4]], "y": "small"},
    {"id": "path", "edges": [[0, 1], [1, 2]], "edge_weight": [1, 2], "x": [[1, 0], [0, 1], [1, 1]], "y": "large"},
]
MOLECULES = [("CCO", "ethanol", 0), ("c1ccccc1", "benzene", 1), ("CC(=O)O", "acetic acid", 0), ("C#N", "cyanide", 1)]


def write_files() -> None:
    """Write the files to the working directory, which is empty; no file names another place of this machine."""
    lines = [f"{json.dumps(graph)}\n" for graph in GRAPHS]
    Path("graphs.jsonl").write_text("".join(lines), encoding="utf-8")
    parts = [(*molecule, part) for part in ("train", "valid", "test") for molecule in MOLECULES]
    rows = ["smiles,name,toxic,part", *(",".join(map(str, row)) for row in parts)]
    Path("molecules.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    small = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]

    command("datasets", "import", "graphs.jsonl", "--out", "store")
    GraphEmbedder(preset="graphcl", settings=SMALL, device="cpu").fit("graphs.jsonl").save("model")
    for ending in ("npz", "csv", "parquet"):
        command("embed", "model", "store", "--device", "cpu", "--out", f"embeddings.{ending}")

    trained = ["--preset", "graphcl", *small, "--seeds", "2"]
    command("pretrain", "motifs", *trained, "--device", "cpu", "--quiet", "--out", "run")
    command("evaluate", "run", "motifs", "--device", "cpu", "--set", "c=default", "--jobs", "1")
    command(
        "sweep", "motifs", *trained, "--device", "cpu", "--protocol", "lssvm", "--jobs", "1", "--results", "results"
    )
    command("results", "pack", "cells.nmrgcl-results", "--results", "results")

    command("datasets", "pack", "molecules.csv", "--out", "library.molecules")
    tuned = [
        "--labels",
        "toxic",
        "--model",
        "none",
        "--split",
        "column:part",
        "--seeds",
        "2",
        "--device",
        "cpu",
        *small,
    ]
    command("finetune", "molecules.csv", *tuned, "--out", "predictor")
    command("predict", "predictor", "molecules.csv", "--device", "cpu")


@contextmanager
def in_new_folder() -> Iterator[Path]:
    """A temporary folder as the working directory."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        yield Path(folder)


def command(*words: str) -> str:
    """Run a command of nmrgcl; what it prints."""
    result = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert result.exit_code == 0, f"{words}: {result.output}"
    return result.stdout


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir()
    with chdir(sys.argv[1]):
        write_files()
