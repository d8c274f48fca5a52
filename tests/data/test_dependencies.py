"""Which libraries reading and training need: those for other formats are loaded only by their readers."""

import subprocess
import sys
from pathlib import Path

OTHERS = ("msgspec", "networkx", "pandas", "pooch", "pyarrow", "rdkit", "torch_geometric")

TRAIN = f"""
import sys
sys.modules.update(dict.fromkeys({OTHERS!r}))  # importing any of them is an ImportError from here on
import numpy as np
from pathlib import Path
from nmrgcl import GraphEmbedder
from nmrgcl.data.loading import load
from nmrgcl.data.stored import write_dataset
folder = Path(sys.argv[1])
tu = folder / "T"
tu.mkdir()
(tu / "T_A.txt").write_text("1, 2\\n2, 1\\n3, 4\\n4, 3\\n")
(tu / "T_graph_indicator.txt").write_text("1\\n1\\n2\\n2\\n")
np.savez(folder / "a.npz", edge_index=np.array([[0, 2], [1, 3]]), node_ptr=np.array([0, 2, 4]))
write_dataset(folder / "store", load(str(tu)))
for name in ("T", "a.npz", "store"):
    z = GraphEmbedder(settings={{"train.epochs": 1}}, device="cpu").fit_transform(str(folder / name))
    assert np.isfinite(z).all(), name
"""

MISSING = """
import sys
sys.modules[sys.argv[2]] = None
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
try:
    load(sys.argv[1])
except DataError as error:
    print(error)
"""


def run(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_tu_files_npz_and_stores_are_trained_on_without_the_libraries_of_other_formats(tmp_path: Path) -> None:
    run(TRAIN, tmp_path)


def test_a_reader_whose_library_is_missing_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"edges": [[0, 1]]}\n')
    (tmp_path / "a.csv").write_text("source,target\n0,1\n")
    assert run(MISSING, tmp_path / "a.jsonl", "msgspec") == "reading JSON lines needs msgspec; pip install msgspec\n"
    assert "needs pyarrow; pip install 'nmrgcl[csv]'" in run(MISSING, tmp_path / "a.csv", "pyarrow")
