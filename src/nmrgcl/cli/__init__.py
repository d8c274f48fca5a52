"""The command line; each command parses its arguments, calls one function and prints the result."""

import os
import re
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
from nmrgcl.cli.store import app as store
from nmrgcl.cli.sweep import sweep
from nmrgcl.cli.terminal import require_plain, safe_streams, silence, tell
from nmrgcl.cli.theory import theory
from nmrgcl.cli.tune import tune
from nmrgcl.cli.view import view
from nmrgcl.errors import DataWarning, SettingError, UserError

app = typer.Typer(
    name="nmrgcl",
    cls=Group,
    help="Self-supervised graph embeddings: pre-train an encoder without labels and evaluate it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(pretrain, evaluate, embed, export, neighbours, finetune, predict, report, view, compare, sweep, tune),
    *(reproduce, diagnose, theory, methods, presets, settings, doctor),
):
    app.command(cls=Command)(command)
app.add_typer(datasets, name="datasets")
app.add_typer(results, name="results")
app.add_typer(store, name="store")
# The commands of ``bench`` parse their own arguments, including --help.
app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)


def _version(wanted: bool) -> None:
    if wanted:
        from nmrgcl import __version__

        print(f"nmrgcl {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Run the command line; errors that the user can fix are reported in one line, with exit code 2."""
    if "RANK" in os.environ:  # Hides remarks on lost connections and unused parameters; before torch is loaded.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
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
        except OSError as error:  # a full disk or missing permissions; writes are atomic, so nothing needs cleaning up
            silence(sys.stdout)
            place = f"{error.filename}: " if error.filename else ""
            tell(f"nmrgcl: {place}{error.strerror or error}; make room or choose another place")
            sys.exit(2)
        except KeyboardInterrupt:
            tell("nmrgcl: interrupted")
            sys.exit(130)
        except BaseException as error:
            if type(error).__name__ != "Interrupted":  # importing its module here would load torch for --help
                raise
            tell(f"nmrgcl: {error}; continue with --resume")
            sys.exit(128 + error.signum)  # type: ignore[attr-defined]


def _show(message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Show warnings about a user's data in one line, and other warnings as Python does."""
    if issubclass(category, DataWarning):
        tell(f"nmrgcl: {message}")
    else:
        print(warnings.formatwarning(message, category, *place[:2]), end="", file=sys.stderr)


def _run(arguments: list[str]) -> None:
    require_plain(arguments)
    code = None
    try:
        code = app(args=with_resume_value(arguments), prog_name="nmrgcl", standalone_mode=False)
    except Exception as error:
        # Typer would print a box of five lines. Its classes are in different modules in its different versions.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ != "NoArgsIsHelpError":
            raise SettingError(_in_one_line(error)) from None
        error.show()  # type: ignore[attr-defined]
        code = error.exit_code  # type: ignore[attr-defined]
    finally:
        sys.stdout.flush()  # otherwise Python flushes at exit and reports a full disk in two lines
    if code == 130:  # newer versions of Typer return this instead of letting KeyboardInterrupt pass
        raise KeyboardInterrupt
    sys.exit(code or 0)


def _in_one_line(error: Any) -> str:
    """What is wrong with the arguments, and where to read what they are."""
    command = error.ctx.command_path if getattr(error, "ctx", None) else "nmrgcl"
    said = " ".join(error.format_message().split()).rstrip(".").removeprefix("Invalid value for ")
    said = re.sub(r"^'(-[^']*)': I", r"\1: i", said).replace(". Did you mean", "; did you mean")
    return f"{said[:1].lower()}{said[1:]}" + ("" if said.endswith("?") else f"; see {command} --help")
