"""``nmrgcl bench``, implemented in ``benchmarks/bench/commands.py`` of the repository."""

import sys
from pathlib import Path

import typer

from nmrgcl.errors import UserError

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def bench(context: typer.Context) -> None:
    """Benchmark speed and memory against other libraries (only in a checkout of the repository)."""
    if not (BENCHMARKS / "bench" / "commands.py").is_file():
        raise UserError("bench works only in a checkout: clone the repository and install it with pip install -e .")
    sys.path.insert(0, str(BENCHMARKS))
    from bench.commands import app

    app(args=context.args, prog_name="nmrgcl bench")
