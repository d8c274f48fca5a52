"""What each command imports: libraries that take long to load are loaded only by commands that use them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.main import get_command

from nmrgcl.adam import Adam, SparseAdam
from nmrgcl.cli import app
from nmrgcl.cli.names import require_names
from nmrgcl.errors import ModelError
from nmrgcl.method_files import method_names, options_class
from nmrgcl.method_source import declared, is_packaged
from nmrgcl.methods import MoleculePretraining, find_method

LIBRARIES = ("torch", "numpy", "sklearn", "scipy", "joblib", "pandas", "matplotlib", "pyarrow", "networkx", "rdkit")
UNUSED_BY_TRAINING = (
    *("sklearn", "scipy", "joblib", "matplotlib", "networkx", "rdkit", "pyarrow", "pandas", "sympy"),
    *("torch._dynamo", "torch._inductor"),
)
RUN = """
import sys
from nmrgcl.cli import main
libraries, *commands = sys.argv[1:]
codes = set()
for command in commands:
    sys.argv = ["nmrgcl", *command.split()]
    try:
        main()
    except SystemExit as end:
        codes.add(end.code)
loaded = sorted(set(libraries.split()) & set(sys.modules))
print(loaded, file=sys.stderr)
sys.exit(codes.pop() if len(codes) == 1 else 99)
"""


def loaded_by(code: str, libraries: tuple[str, ...], *arguments: str) -> tuple[str, list[str], int]:
    """Run ``code`` in a fresh process; return its output, the lines of its errors, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", code, " ".join(libraries), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr.splitlines(), done.returncode


def test_a_list_loads_no_library() -> None:
    lists = ("methods", "datasets list", "presets", "presets strong", "settings", "settings encoder", "pretrain --help")
    out, told, code = loaded_by(RUN, LIBRARIES, "--help", *lists)
    assert (told, code) == (["[]"], 0)
    assert all(part in out for part in ("graph kernel", "motifs", "graphcl_published", "train.lr", "--preset"))


MISSPELT = {
    "pretrain MUTAG --preset zzz": "unknown preset 'zzz'; known: ad_gcl, ",
    "pretrain MUTAG --method graphcll": "unknown method 'graphcll'; did you mean graphcl",
    "pretrain MUTAG --set foo=1": "--set: unknown setting 'foo'; did you mean pool?",
    "pretrain MUTAG --set features=degre": "--set: data.features = 'degre'; did you mean degree?",
    "pretrain MUTAG --config nosuch.toml": "nosuch.toml: cannot be read (No such file or directory)",
    "pretrain MUTAG --device gpu": "unknown device 'gpu'; known: auto, cpu, cuda",
    "pretrain MUTAGG": "unknown dataset 'MUTAGG'; did you mean MUTAG",
    "sweep MUTAG nosuch/data.csv": "nosuch/data.csv: no such file or folder",
    "tune MUTAG --preset zzz": "unknown preset 'zzz'; known: ad_gcl, ",
    "evaluate nosuch": "nosuch: no such run or model folder; make one with nmrgcl pretrain",
    "compare nosuch other": "nosuch: no such run or model folder; make one with nmrgcl pretrain",
    "evaluate nosuch --set foo=1": "--set foo: only svm.* and linear.* can be set here; ",
}


def test_a_misspelt_name_is_refused_before_a_library_is_loaded() -> None:
    _, (*told, libraries), code = loaded_by(RUN, LIBRARIES, *MISSPELT)
    assert len(told) == len(MISSPELT)
    for line, expected in zip(told, MISSPELT.values(), strict=True):
        assert line.startswith(f"nmrgcl: {expected}")
    assert (libraries, code) == ("[]", 2)


def test_the_default_of_every_option_is_a_known_name() -> None:
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        optional = [param for param in command.params if not param.required]
        require_names(name, {param.name: param.default for param in optional})


def test_training_loads_neither_scikit_learn_nor_the_compiler(tmp_path: Path) -> None:
    command = f"pretrain motifs --preset graphcl --seeds 1 --epochs 1 --device cpu --quiet --out {tmp_path / 'run'}"
    _, told, code = loaded_by(RUN, UNUSED_BY_TRAINING, command)
    assert (told, code) == (["[]"], 0)


EMBED = """
import sys
import networkx
from nmrgcl import GraphEmbedder
graphs = [networkx.cycle_graph(n) for n in range(3, 9)]
assert GraphEmbedder(settings={"train.epochs": 1}, device="cpu").fit_transform(graphs).shape[0] == 6
print(sorted(set(sys.argv[1].split()) & set(sys.modules)), file=sys.stderr)
"""


def test_embedding_in_python_loads_only_the_base_of_scikit_learn() -> None:
    parts = ("sklearn.ensemble", "sklearn.svm", "sklearn.model_selection", "sklearn.linear_model", "sklearn.metrics")
    _, told, code = loaded_by(EMBED, (*parts, "matplotlib", "torch._dynamo", "torch._inductor", "sympy"))
    assert (told, code) == (["[]"], 0)


@pytest.mark.parametrize("method", [name for name in method_names() if is_packaged(name)])
def test_what_is_read_from_source_is_what_the_class_says(method: str) -> None:
    found, kind = declared(method), find_method(method)
    assert found.summary == str(kind.__doc__).strip().partition("\n")[0]
    assert kind.ABOUT is not None
    assert found.family == kind.ABOUT.family
    presets = {"molecule": kind.PRESETS["graph"]} if issubclass(kind, MoleculePretraining) else dict(kind.PRESETS)
    assert found.presets == presets
    assert found.options == tuple(options_class(method).__dataclass_fields__)


@pytest.mark.parametrize(("ours", "torchs"), [(Adam, torch.optim.Adam), (SparseAdam, torch.optim.SparseAdam)])
def test_our_adam_is_that_of_torch_bit_for_bit(ours: type[torch.optim.Optimizer], torchs: type) -> None:
    weights = [torch.arange(6.0).view(3, 2).requires_grad_() for _ in range(2)]
    optimisers = [kind([one], lr=0.1) for kind, one in zip((ours, torchs), weights, strict=True)]
    for step in range(4):
        for weight, optimiser in zip(weights, optimisers, strict=True):
            optimiser.zero_grad()
            found = torch.nn.functional.embedding(torch.tensor([step % 3, 1]), weight, sparse=ours is SparseAdam)
            found.square().sum().backward()
            optimiser.step()
            if step == 1:
                optimiser.load_state_dict(optimiser.state_dict())
    assert torch.equal(*weights)
    assert not torch.equal(weights[0], torch.arange(6.0).view(3, 2))


def test_a_run_that_trains_its_first_model_can_be_viewed_but_not_judged(tmp_path: Path) -> None:
    require_names("view", {"runs": [tmp_path]})
    with pytest.raises(ModelError, match="holds no models"):
        require_names("evaluate", {"run": tmp_path})


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_waiting_threads_do_not_spin_for_long_unless_told_so(given: dict[str, str], found: str) -> None:
    rest = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    code = "import nmrgcl, os; print(os.environ.get('GOMP_SPINCOUNT'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=rest | given)
    assert done.stdout.strip() == found
