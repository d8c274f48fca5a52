"""The command line: each command parses, calls one function and prints."""

import os
import sys
import warnings
from typing import Any

import typer

from nmrgcl.cli.bench import bench
from nmrgcl.cli.command import Command, Group
from nmrgcl.cli.compare import compare
from nmrgcl.cli.datasets import app as datasets
from nmrgcl.cli.diagnose import diagnose
from nmrgcl.cli.doctor import doctor
from nmrgcl.cli.embed import embed
from nmrgcl.cli.evaluate import evaluate
from nmrgcl.cli.export import export
from nmrgcl.cli.finetune import finetune
from nmrgcl.cli.methods import methods
from nmrgcl.cli.neighbours import neighbours
from nmrgcl.cli.options import with_resume_value
from nmrgcl.cli.predict import predict
from nmrgcl.cli.presets import presets
from nmrgcl.cli.pretrain import pretrain
from nmrgcl.cli.report import report
from nmrgcl.cli.reproduce import reproduce
from nmrgcl.cli.results import app as results
from nmrgcl.cli.settings import settings
from nmrgcl.cli.sweep import sweep
from nmrgcl.cli.terminal import require_plain, safe_streams, silence, tell
from nmrgcl.cli.theory import theory
from nmrgcl.cli.tune import tune
from nmrgcl.cli.view import view
from nmrgcl.errors import DataWarning, UserError

app = typer.Typer(
    name="nmrgcl",
    cls=Group,
    help="Graph embeddings without labels: pre-train an encoder, judge it honestly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(pretrain)
app.command(cls=Command)(evaluate)
app.command(cls=Command)(embed)
app.command(cls=Command)(export)
app.command(cls=Command)(neighbours)
app.command(cls=Command)(finetune)
app.command(cls=Command)(predict)
app.command(cls=Command)(report)
app.command(cls=Command)(view)
app.command(cls=Command)(compare)
app.command(cls=Command)(sweep)
app.command(cls=Command)(tune)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(diagnose)
app.command(cls=Command)(theory)
app.command(cls=Command)(methods)
app.command(cls=Command)(presets)
app.command(cls=Command)(settings)
app.command(cls=Command)(doctor)
app.add_typer(datasets, name="datasets")
app.add_typer(results, name="results")
# The commands of ``bench`` parse their own arguments, --help included.
app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)


def _version(wanted: bool) -> None:
    if wanted:
        from nmrgcl import __version__

        print(f"nmrgcl {__version__}")
        raise typer.Exit


SPINS = "1000"
"""How long threads that wait for others keep a core busy, before torch is loaded. By default they do for milliseconds;
beside other processes a step of two threads then takes seven times as long (LAB.md)."""


@app.callback()
def _common(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Entry point; what the user can mend is told in one line, with exit code 2."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    with safe_streams(), warnings.catch_warnings():
        warnings.simplefilter("once", DataWarning)
        warnings.showwarning = _show  # type: ignore[assignment]
        try:
            _run(sys.argv[1:])
        except UserError as error:
            tell(f"nmrgcl: {error}")
            sys.exit(2)
        except BrokenPipeError:
            silence(sys.stdout)
            sys.exit(141)
        except OSError as error:  # a full disk, a folder without permission: nothing half-written is left
            silence(sys.stdout)
            place = f"{error.filename}: " if error.filename else ""
            tell(f"nmrgcl: {place}{error.strerror or error}; make room or choose another place")
            sys.exit(2)
        except KeyboardInterrupt:
            tell("nmrgcl: interrupted")
            sys.exit(130)
        except BaseException as error:
            if type(error).__name__ != "Interrupted":  # its module is not imported here: --help would wait for torch
                raise
            tell(f"nmrgcl: {error}; go on with --resume")
            sys.exit(128 + error.signum)  # type: ignore[attr-defined]


def _show(message: Warning | str, category: type[Warning], *place: Any) -> None:
    """What users should know about their data in one line, other warnings as Python shows them."""
    if issubclass(category, DataWarning):
        tell(f"nmrgcl: {message}")
    else:
        print(warnings.formatwarning(message, category, *place[:2]), end="", file=sys.stderr)


def _run(arguments: list[str]) -> None:
    require_plain(arguments)
    try:
        app(args=with_resume_value(arguments), prog_name="nmrgcl")
    finally:
        sys.stdout.flush()  # Python's own flush, when it exits, would tell of a full disk in two lines
