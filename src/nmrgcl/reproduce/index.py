"""One page that leads to all items, with every verdict."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmrgcl import atomic
from nmrgcl.errors import SettingError
from nmrgcl.owned import require_signed
from nmrgcl.report.render import prepare, render
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.page import Written, repeat_command
from nmrgcl.reproduce.plan import Plan
from nmrgcl.run import versions


@dataclass(frozen=True)
class Made:
    """An item, and where it was written, if it was."""

    item: Item
    plan: Plan
    written: Written | None = None

    @property
    def state(self) -> str:
        """How much of it is there, and what became of its claims."""
        if self.written is None:
            return "not computed"
        counts = Counter(verdict.outcome for verdict in self.written.verdicts)
        words = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        return f"{self.written.scores.extent}; claims: {words}" if self.item.axes else f"claims: {words}"

    @property
    def command(self) -> str:
        """What computes it."""
        return repeat_command(self.item, self.plan)


TITLE = b"<title>nmrGCL (arXiv 2203.12821), computed again"


def require_place(out: Path) -> None:
    """Refuse to replace an ``index.html`` that is not ours."""
    require_signed(out / "index.html", TITLE)


def write_index(made: Sequence[Made], out: Path) -> Path:
    """Write ``index.html`` into ``out``, beside the items' own pages."""
    page = out / "index.html"
    prepare(page, None)
    require_place(out)
    text = render("index.html.j2", made=made, quick=any(one.plan.quick for one in made), versions=versions())
    try:
        atomic.write_text(page, text)
    except OSError as error:
        raise SettingError(f"{page}: cannot be written ({error.strerror})") from None
    return page
