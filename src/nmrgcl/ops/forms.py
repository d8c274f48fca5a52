"""Which forms each operation has, and when each of them runs.

A module of ``nmrgcl.ops`` lists the forms of its operation in ``FORMS``, the plain one first. ``nmrgcl doctor --ops``
prints them all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules


@dataclass(frozen=True, eq=False)
class Form:
    """One way to compute an operation.

    Attributes:
        operation: what is computed, the same for all forms of it: "neighbour sum".
        name: how: "plain", "Triton kernel".
        when: the condition under which this form is chosen, in words.
    """

    operation: str
    name: str
    when: str

    @property
    def on(self) -> bool:
        """False inside ``switched_off``: the function that chooses then takes another form."""
        return self not in _off


_off: set[Form] = set()


def forms() -> tuple[Form, ...]:
    """The forms of all operations, operation by operation in alphabetical order of their modules."""
    package = import_module("nmrgcl.ops")
    modules = [import_module(f"nmrgcl.ops.{module.name}") for module in iter_modules(package.__path__)]
    return tuple(form for module in modules for form in getattr(module, "FORMS", ()))


@contextmanager
def switched_off(*chosen: Form) -> Iterator[None]:
    """Inside, these forms do not run, so that one can measure what they are worth (``benchmarks/forms.py``).

    Plain forms always remain, and so does a form without an alternative.
    """
    new = set(chosen) - _off
    _off.update(new)
    try:
        yield
    finally:
        _off.difference_update(new)
