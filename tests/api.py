"""What programs import and users name, as ``tests/api.json`` keeps it; ``python -m tests.api`` writes it anew."""

import inspect
import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import nmrgcl
from nmrgcl.augment import VIEWS
from nmrgcl.encode import ENCODERS
from nmrgcl.methods import method_names
from nmrgcl.settings import preset_names

FILE = Path(__file__).with_name("api.json")


def api() -> dict[str, Any]:
    """The signatures of all public objects and of their members, and the names that settings and options take."""
    return {
        "python": {name: _members(getattr(nmrgcl, name)) for name in sorted(nmrgcl.__all__)},
        "methods": sorted(method_names()),
        "presets": sorted(preset_names()),
        "views": sorted(VIEWS),
        "encoders": sorted(ENCODERS),
    }


def _members(thing: Any) -> dict[str, str]:
    found = {"": _signature(thing)}
    for kind in inspect.getmro(thing) if inspect.isclass(thing) else ():
        if kind.__module__.startswith("nmrgcl."):  # not what scikit-learn and torch bring
            for name, member in vars(kind).items():
                if not name.startswith("_") and not name.endswith("_request"):
                    found[name] = "property" if isinstance(member, property) else _signature(getattr(thing, name))
    return {name: what for name, what in sorted(found.items()) if what}


def _signature(thing: Any) -> str:
    """Parameters and their defaults without annotations, which may become wider; empty for other things."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return "(*args)"
    if not callable(thing):
        return ""
    signature = inspect.signature(thing)
    bare = [
        one.replace(annotation=inspect.Parameter.empty, default=_shown(one.default))
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _shown(default: Any) -> Any:
    """A default that is a class or a group of settings is shown by its name."""
    if default is inspect.Parameter.empty or not (inspect.isclass(default) or is_dataclass(default)):
        return default
    return _Name(default.__name__ if inspect.isclass(default) else type(default).__name__)


class _Name(str):
    def __repr__(self) -> str:
        return str(self)


if __name__ == "__main__":
    FILE.write_text(json.dumps(api(), indent=1) + "\n", encoding="utf-8")
