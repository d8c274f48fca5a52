"""Every file in examples/ runs in an empty folder, as its first lines say, and prints what its tutorial shows."""

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
    "reproduce": "--set svm.c=default --most-epochs 1 --jobs 1",
    "molecules_to_bbbp.py": "--quick",
}
"""What makes a command, or a file that is run, short enough for a test."""
LIBRARIES = {"lightning_training": "lightning"}
"""What an example needs that the tests' environment does not have; make test-trackers does."""
NEEDED = {"molecules_to_bbbp": "moleculenet/BBBP.csv"}
"""What an example needs of the mirror."""
TUTORIALS = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")))


def shown(example: Path) -> str | None:
    """What the tutorial says that an example prints."""
    found = re.search(rf"examples/{example.name}\n:[^`]*```\n\nIt prints[^\n]*\n\n```\n(.*?)```", TUTORIALS, re.DOTALL)
    return found and found[1]


def words(text: str) -> list[str]:
    """Without numbers, which other versions of torch may compute differently."""
    return re.sub(r"[-+]?\d+(\.\d+)?", "#", text).split()


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_commands_of_an_example_run_as_printed(
    example: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch_geometric")
    if library := LIBRARIES.get(example.stem):
        pytest.importorskip(library, reason=f"{library} is not installed; make test-trackers runs this example")
    if (file := NEEDED.get(example.stem)) and not (request.getfixturevalue("mirror") / file).is_file():
        pytest.skip(f"NMRGCL_MIRROR has no {file}")
    if "molecules" in example.stem:
        pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
    shutil.copy(example, tmp_path)
    head = example.read_text().split('"""')[1]
    commands = re.findall(r"^ *((?:nmrgcl|python) .*)$", head, re.MULTILINE)
    assert commands
    monkeypatch.chdir(tmp_path)
    for command in commands:
        program, *arguments = command.split()
        arguments += SHORT.get(arguments[0], "").split()
        if program == "python":  # in this process, because importing torch takes longer than most examples
            monkeypatch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
            continue
        ended = subprocess.run(
            [sys.executable, "-m", "nmrgcl", *arguments], capture_output=True, text=True, timeout=300
        )
        assert ended.returncode == 0, f"{command}: {ended.stderr[-800:]}"
    if (expected := shown(example)) is not None:
        assert words(capsys.readouterr().out) == words(expected)


def test_every_tutorial_shows_what_its_program_prints() -> None:
    assert sum(shown(example) is not None for example in EXAMPLES) == TUTORIALS.count("It prints")
