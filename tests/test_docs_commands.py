"""Every ``nmrgcl …`` in the documentation names commands, options, settings, presets and methods that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from nmrgcl.cli import app
from nmrgcl.methods import method_names
from nmrgcl.settings import preset_names, setting_keys

ROOT = Path(__file__).parents[1]
WRITTEN = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name not in ("reference", "lab")]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *WRITTEN]
"""Lab notes are left out: they keep the commands of their day."""
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEYS = {key for name in method_names() for key in setting_keys(name)} | {"options.covariance"}  # of examples/vicreg.py
KNOWN = {
    "--set": KEYS | {key.rpartition(".")[2] for key in KEYS},
    "--preset": {*preset_names()},
    "--method": {*method_names()},
}
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*|[a-z]|.*[/.].*")
"""DATA, a, and anything that is a file."""
NO_COMMANDS = {"nmrgcl molecules 1": "the first line of an archive", "nmrgcl on NCI1, seed 3": "a message"}


def commands_of(text: str) -> list[str]:
    """The commands in a page's blocks, without prompts and comments, and in its inline code."""
    found = []
    for block in FENCED.findall(text):
        start = r"\$ " if re.search(r"^\$ ", block, re.MULTILINE) else r"(?:srun )?"
        found += re.findall(rf"^ *{start}(nmrgcl [a-zA-Z].*)$", block.replace("\\\n", " "), re.MULTILINE)
    found += re.findall(r"`(nmrgcl [^`]+)`", FENCED.sub("", text))
    lines = [re.split(r"\s(?:#|&&|>)\s?", " ".join(one.split()))[0] for one in found]
    return [line for line in lines if line not in NO_COMMANDS]


def faults(line: str) -> list[str]:
    """What a command line has that does not exist."""
    command: Any = get_command(app)
    words = [word for word in shlex.split(line)[1:] if word != "…"]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if PLACEHOLDER.fullmatch(words[0]) or words[0] == "bench":  # which hands its words to benchmarks/bench
            return []
        if words[0] not in command.commands:
            return [f"no command {words[0]}"]
        command = command.commands[words.pop(0)]
    options = {name: param for param in command.params for name in (*param.opts, *param.secondary_opts)}
    free = sum(param.param_type_name == "argument" for param in command.params)
    several = any(param.param_type_name == "argument" and param.nargs != 1 for param in command.params)
    found = []
    while words:
        name, equals, value = words.pop(0).partition("=")
        if not name.startswith("-"):
            free -= 1
        elif name not in options and name != "--help":
            return [f"no option {name}"]
        elif name != "--help" and not options[name].is_flag:
            if not equals and not words:
                found.append(f"{name} needs a value")
            else:
                found += _of_value(name, options[name], value if equals else words.pop(0))
    return found + (["too many arguments"] if free < 0 and not several else [])


def _of_value(name: str, param: Any, value: str) -> list[str]:
    choices = param.metavar.split("|") if param.metavar and "|" in param.metavar else ()
    known = KNOWN.get(name) or (choices if all(re.fullmatch(r"[a-z0-9-]+", one) for one in choices) else ())
    bare = value.partition("=")[0] if name == "--set" else value
    if not known or bare in known or (name != "--set" and PLACEHOLDER.fullmatch(value)) or bare == "KEY":
        return []
    return [f"{name} {value}: not one of the known values"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page: Path) -> None:
    lines = commands_of(page.read_text(encoding="utf-8"))
    assert {line: found for line in lines if (found := faults(line))} == {}


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    page = "`nmrgcl doctor`\n```\n$ nmrgcl embed a \\\n  --out b  # why\nnmrgcl on MUTAG, seed 0\n```\n"
    assert commands_of(page) == ["nmrgcl embed a --out b", "nmrgcl doctor"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("nmrgcl datasets shuffle", "no command shuffle"),
        ("nmrgcl pretrain MUTAG --epoch 3", "no option --epoch"),
        ("nmrgcl pretrain MUTAG --set epoch=3", "--set epoch=3: not one of the known values"),
        ("nmrgcl pretrain MUTAG --method nmrgl", "--method nmrgl: not one of the known values"),
        ("nmrgcl diagnose z.npz --fail-on all", "--fail-on all: not one of the known values"),
        ("nmrgcl pretrain MUTAG DD", "too many arguments"),
        ("nmrgcl pretrain MUTAG --out", "--out needs a value"),
    ],
)
def test_what_does_not_exist_is_found(line: str, fault: str) -> None:
    assert faults(line) == [fault]
