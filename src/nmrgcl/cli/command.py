"""How commands read their options: a setting that is given as an option is answered with how to set it."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand, TyperGroup

from nmrgcl.errors import SettingError

JUDGES = ("svm.", "linear.")
"""Groups of settings that commands take which train nothing."""


class Command(TyperCommand):
    """A command whose flags are shown without a type, and which explains unknown options in one line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments."""
        return _plain_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; SettingError for an option that it does not have."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ != "NoSuchOption":  # its module is another one in each version of Typer
                raise
            own = [name for param in self.get_params(ctx) for name in param.opts if name.startswith("--")]
            option = str(error.option_name)  # type: ignore[attr-defined]
            raise SettingError(explain(ctx.command_path, option, _value_of(option, given), own)) from None


class Group(TyperGroup):
    """Commands under one name; flags are shown without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own options."""
        return _plain_flags(super().get_params(ctx))


def explain(command: str, option: str, value: str, own: Sequence[str]) -> str:
    """What to write instead of ``option`` with ``value``; ``own`` are the options that ``command`` has."""
    key = _find_setting(option.lstrip("-"))
    if key is not None and "--set" in own and _takes(command, key):
        return f"{option}: use --set {key}={value}"
    if close := get_close_matches(option, own, n=2, cutoff=0.75):
        return f"{option}: {command} has no such option; did you mean {' or '.join(close)}?"
    if key is not None:
        return f"{option}: {key} is a setting of the training, which {command} does not change"
    return f"{option}: {command} has no such option; {command} --help lists them"


def _find_setting(word: str) -> str | None:
    """The setting that an option without its dashes names, such as ``tau``, ``encoder.units`` or ``encoder-units``."""
    from nmrgcl.cli.completion import known_keys

    plain = {key.replace(".", "_"): key for key in reversed(known_keys())}
    return plain.get(word.replace("-", "_").replace(".", "_"))


def _takes(command: str, key: str) -> bool:
    """Whether --set of that command takes the setting; those that judge a finished training take few."""
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
