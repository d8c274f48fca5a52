"""Command classes: a setting that is passed as an option, such as ``--tau``, gets a hint to use ``--set``."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand, TyperGroup

from nmrgcl.cli.names import require_names
from nmrgcl.errors import SettingError
from nmrgcl.run.torchrun import has_other_ranks

JUDGES = ("svm.", "linear.")
"""Groups of settings for commands that evaluate without training."""


class Command(TyperCommand):
    """A command that shows flags without a type and explains unknown options in one line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments."""
        return _plain_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; raise UserError for unknown options and names."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ != "NoSuchOption":  # its module differs between versions of Typer
                raise
            own = [name for param in self.get_params(ctx) for name in param.opts if name.startswith("--")]
            option = str(error.option_name)  # type: ignore[attr-defined]
            raise SettingError(explain(ctx.command_path, option, _value_of(option, given), own)) from None
        # Nothing is checked for shell completion. A rank first joins the others, so that rank 0 can say what is wrong.
        if not ctx.resilient_parsing and not has_other_ranks():
            require_names(ctx.command.name, ctx.params)
        return rest


class Group(TyperGroup):
    """A group of commands that shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its own options."""
        return _plain_flags(super().get_params(ctx))


def explain(command: str, option: str, value: str, own: Sequence[str]) -> str:
    """Say what to write instead of ``option`` with ``value``; ``own`` are the options of ``command``."""
    key = _find_setting(option.lstrip("-"))
    if key is not None and "--set" in own and _takes(command, key):
        return f"{option}: use --set {key}={value}"
    if close := get_close_matches(option, own, n=2, cutoff=0.75):
        return f"{option}: {command} has no such option; did you mean {' or '.join(close)}?"
    if key is not None:
        return f"{option}: {key} is a training setting, which {command} cannot change"
    return f"{option}: {command} has no such option; {command} --help lists them"


def _find_setting(word: str) -> str | None:
    """Return the setting for an option without its dashes, such as ``tau``, ``encoder.units`` or ``encoder-units``."""
    from nmrgcl.cli.completion import known_keys

    plain = {key.replace(".", "_"): key for key in reversed(known_keys())}
    return plain.get(word.replace("-", "_").replace(".", "_"))


def _takes(command: str, key: str) -> bool:
    """Return True if ``--set`` of the command accepts the setting; commands that only evaluate accept few."""
    from nmrgcl.settings import shared_settings

    if command.rpartition(" ")[2] not in ("evaluate", "compare"):
        return True
    judges = [one.key for one in shared_settings() if one.key.startswith(JUDGES)]
    return key in judges or key in {one.partition(".")[2] for one in judges}


def _value_of(option: str, given: Sequence[str]) -> str:
    for word, following in zip(given, [*given[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            value = value if equals else "" if following.startswith("--") else following
            return value or "VALUE"
    return "VALUE"


def _plain_flags(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
