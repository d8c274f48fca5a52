"""Every file in examples/ runs in an empty folder, as its first lines say."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHORT = {
    "pretrain": "--set epochs=1 --seeds 1 --device cpu --quiet",
    "evaluate": "--set c=default --device cpu",
    "sweep": "--set epochs=1 --set svm.c=default --seeds 1 --jobs 1",
    "finetune": "--set epochs=1 --device cpu",
    "molecules_to_bbbp.py": "--quick",
}
"""What makes a command, or a file that is run, short enough for a test."""
LIBRARIES = {"lightning_training": "lightning"}
"""What an example needs that the tests' environment does not have; make test-trackers does."""
NEEDED = {"molecules_to_bbbp": "moleculenet/BBBP.csv"}
"""What an example needs of the mirror."""


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_commands_of_an_example_run_as_printed(
    example: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    if library := LIBRARIES.get(example.stem):
        pytest.importorskip(library, reason=f"{library} is not installed; make test-trackers runs this example")
    if (file := NEEDED.get(example.stem)) and not (request.getfixturevalue("mirror") / file).is_file():
        pytest.skip(f"NMRGCL_MIRROR has no {file}")
    if file:
        pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
    shutil.copy(example, tmp_path)
    head = example.read_text().split('"""')[1]
    commands = re.findall(r"^ *((?:nmrgcl|python) .*)$", head, re.MULTILINE)
    assert commands
    monkeypatch.chdir(tmp_path)
    for command in commands:
        program, *words = command.split()
        words += SHORT.get(words[0], "").split()
        if program == "python":  # in this process, because importing torch takes longer than most examples
            monkeypatch.setattr(sys, "argv", words)
            runpy.run_path(words[0], run_name="__main__")
            continue
        ended = subprocess.run([sys.executable, "-m", "nmrgcl", *words], capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0, f"{command}: {ended.stderr[-800:]}"
