"""One module a parser; each ends with ``TARGET = …``, and there is no list to edit."""

import pkgutil
from importlib import import_module

from tests.fuzz.target import Target


def all_targets() -> dict[str, Target]:
    """Every target by name."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    targets: list[Target] = [module.TARGET for module in modules]
    return {target.name: target for target in targets}
