"""The options of every command, as ``tests/flags.json`` keeps them; ``python -m tests.flags`` writes it anew."""

import json
from pathlib import Path
from typing import Any

from typer.main import get_command

from nmrgcl.cli import app

FILE = Path(__file__).with_name("flags.json")


def flags() -> dict[str, list[str]]:
    """The options and arguments of each command, by its name."""
    return dict(_walk(get_command(app), ""))


def _walk(command: Any, name: str) -> list[tuple[str, list[str]]]:
    own = [opt for param in command.params for opt in (*param.opts, *param.secondary_opts)]
    found = [(name, sorted(own))] if name else []
    for child, inner in sorted(getattr(command, "commands", {}).items()):
        found += _walk(inner, f"{name} {child}".strip())
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(flags(), indent=1) + "\n")
