"""Users' own encoders: the classes and functions that name them, and the networks these make.

A file is stored under its digest (``own_code``); settings call its encoder NAME@DIGEST:CLASS.
"""

import copy
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from nmrgcl import own_code
from nmrgcl.errors import SettingError, UserError

Named = str | type[nn.Module] | nn.Module | Callable[..., nn.Module]
"""How a user names an encoder: by its name or file, its class, a function that makes it, or the network itself."""

DEFAULT = "ENCODER"
"""The name a file may give its encoder, a class or a function. Without it, the file's only network class is used."""

_FILE = re.compile(r"(.+\.py)(?::(.+))?", re.DOTALL)
_SIZES = {
    "num_features": ("num_features", "in_channels", "in_features", "in_dim", "input_dim"),
    "units": ("units", "hidden_channels", "hidden_dim", "out_channels", "out_dim"),
    "layers": ("layers", "num_layers"),
}
"""The sizes of an encoder, and the names that its constructor may use for them."""


def encoder_reference(encoder: Named) -> str:
    """The name that settings use for the encoder that a user has named.

    This runs the named file, so it is only for names that the user typed, never for names read from files.
    """
    if isinstance(encoder, str):
        found = _FILE.fullmatch(encoder)
        return _of_file(Path(found[1]).expanduser(), found[2]) if found else encoder
    kind = type(encoder) if isinstance(encoder, nn.Module) else encoder
    module: Any = sys.modules.get(getattr(kind, "__module__", ""))
    file = getattr(module, "__file__", None)
    if file and getattr(module, DEFAULT, None) is encoder and module.__name__ != "__main__":
        return _of_file(Path(file), None)
    name = getattr(kind, "__name__", "")
    name = name if name.isidentifier() else "made"
    alone = ModuleType(name)
    setattr(alone, name, copy.deepcopy(encoder).cpu() if isinstance(encoder, nn.Module) else encoder)
    return f"{own_code.remember_module(name, alone, ' '.join(_traits(encoder)))}:{name}"


def is_own(name: str) -> bool:
    """True if ``name``, in settings, stands for a user's own encoder."""
    return own_code.is_reference(name.partition(":")[0])


def encoder_label(name: str) -> str:
    """The name to show to users: that of the class."""
    if not is_own(name):
        return name
    code, _, thing = name.partition(":")
    return own_code.label(code) if thing in ("", DEFAULT) else thing


def make_network(name: str, **sizes: int) -> nn.Module:
    """The network that ``name`` stands for, freshly initialised from torch's global generator.

    ``sizes`` are ``num_features``, ``units`` and ``layers``. An instance is copied with its weights.
    """
    found = _find(name)
    if isinstance(found, nn.Module):
        return copy.deepcopy(found)
    try:
        asked = inspect.signature(found)
    except (TypeError, ValueError):
        asked = inspect.Signature([inspect.Parameter("num_features", inspect.Parameter.POSITIONAL_ONLY)])
    first, named = _arguments(asked, sizes)
    try:
        asked.bind(*first, **named)
    except TypeError as error:
        raise SettingError(
            f"encoder {encoder_label(name)}{asked}: it is called with the number of features and, by these names, with "
            f"{', '.join((*_SIZES['units'], *_SIZES['layers']))} ({error}); give other arguments a default, or write "
            "a function of num_features that calls it"
        ) from None
    with told_in_one_line(name):
        network = found(*first, **named)
    if not isinstance(network, nn.Module):
        raise SettingError(f"encoder {encoder_label(name)}: made a {type(network).__name__}, not a torch.nn.Module")
    return network


def network_bytes(name: str, **sizes: int) -> int:
    """A lower bound of the memory of such a network's weights, found without allocating them."""
    try:
        with torch.device("meta"):
            network = make_network(name, **sizes)
    except (UserError, RuntimeError):  # too large to be counted, or code that needs values
        return 4 * sizes["units"]
    return sum(
        p.numel() * p.element_size() for p in network.parameters() if not isinstance(p, nn.UninitializedParameter)
    )


@contextmanager
def told_in_one_line(name: str) -> Iterator[None]:
    """Inside, an error in the user's code becomes one line that says where it happened; the error stays its cause.

    Out-of-memory errors pass through, because callers know which setting to lower.
    """
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if "memory" in str(error):
            raise
        words = own_code.told(error, name.partition(":")[0])
        raise SettingError(f"encoder {encoder_label(name)}{words}") from error


def _of_file(path: Path, thing: str | None) -> str:
    code = own_code.remember(path)
    module = own_code.load_code(code)
    if thing is None and not hasattr(module, DEFAULT):
        own = [key for key, value in vars(module).items() if _is_network(value) and value.__module__ == module.__name__]
        if len(own) != 1:
            listed = f"has several ({', '.join(own)})" if own else "defines none"
            raise SettingError(
                f"{path}: an encoder is a subclass of torch.nn.Module, and this file {listed}; name one, for example "
                f"{path.name}:{own[0] if own else 'MyGCN'}, or end the file with {DEFAULT} ="
            )
        thing = own[0]
    reference = f"{code}:{thing or DEFAULT}"
    _find(reference)
    return reference


def _find(name: str) -> Any:
    """A class or function or, in this process, an instance.

    Names may come from other people's files, so a known file lends only its networks and its ENCODER.
    """
    code, _, thing = name.partition(":")
    module = own_code.load_code(code, "nmrgcl pretrain motifs --dry-run --encoder")
    found = getattr(module, thing, None)
    if module.__name__ == thing:  # given in Python, alone in its module
        return found
    if _is_network(found) or (thing == DEFAULT and callable(found) and not isinstance(found, nn.Module)):
        return found
    file = own_code.origin(code)
    if thing == DEFAULT:
        raise SettingError(f"{file}: {DEFAULT} must be a subclass of torch.nn.Module or a function that makes one")
    raise SettingError(f"{file}: has no subclass of torch.nn.Module called {thing!r}")


def _is_network(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, nn.Module)


def _arguments(asked: inspect.Signature, sizes: dict[str, int]) -> tuple[list[int], dict[str, int]]:
    """Positional and named arguments."""
    value_of = {name: sizes[size] for size, names in _SIZES.items() for name in names}
    kinds = inspect.Parameter
    by_name = (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    named = {key: value_of[key] for key, p in asked.parameters.items() if key in value_of and p.kind in by_name}
    if any(key in named for key in _SIZES["num_features"]):
        return [], named
    positional = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.VAR_POSITIONAL)
    start = next((key for key, p in asked.parameters.items() if p.kind in positional), None)
    return ([] if start is None or start in named else [sizes["num_features"]]), named


def _traits(thing: Any) -> Iterator[str]:
    """What identifies a thing that has no file of its own: its source, its plain values, its weights."""
    if isinstance(thing, partial):
        yield from _traits(thing.func)
        yield repr((thing.args, sorted(thing.keywords.items())))
        return
    if isinstance(thing, nn.Module):
        yield from _traits(type(thing))
        yield repr(thing)
        for key, value in thing.state_dict().items():
            bytes_ = value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
            yield f"{key} {value.dtype} {tuple(value.shape)} {hashlib.sha256(bytes_).hexdigest()}"
        return
    for part in _own_bases(thing) if isinstance(thing, type) else [thing]:
        try:
            yield inspect.getsource(part)
        except (OSError, TypeError):
            yield getattr(part, "__qualname__", type(part).__qualname__)
    if inspect.isfunction(thing):
        outer = inspect.getclosurevars(thing)
        seen = {**outer.globals, **outer.nonlocals}
        plain = int | float | str | bool | tuple | None
        yield repr(sorted((key, repr(value)) for key, value in seen.items() if isinstance(value, plain)))
        yield repr((thing.__defaults__, thing.__kwdefaults__))


def _own_bases(kind: type) -> list[type]:
    """The class and its base classes, without torch's own."""
    return [part for part in kind.__mro__ if part not in nn.Module.__mro__]
