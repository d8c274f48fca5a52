"""The table that every benchmark returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from nmrgcl.run.machine import hardware, versions


@dataclass(frozen=True)
class Row:
    """One measured cost; less is better.

    Attributes:
        name: what was measured and, after "to", the peer it is compared with.
        value: the median of the repeats, in ``unit``.
        spread: largest minus smallest repeat.
        peer: the peer's median in the same run, or None where there is none.
    """

    name: str
    value: float
    unit: str
    spread: float
    peer: float | None = None

    @property
    def ratio(self) -> float | None:
        """The peer's cost over ours: above 1 ours is the cheaper one."""
        return None if self.peer is None else self.peer / self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("name", "value", "unit", "peer", "ratio", "spread")
        return {name: getattr(self, name) for name in names}


def to_dict(rows: Sequence[Row], device: torch.device) -> dict[str, Any]:
    """The rows, and what they were measured with."""
    machine = {**hardware(device), "threads": 1, "versions": versions() | _peers()}
    return {"rows": [row.to_dict() for row in rows], "machine": machine}


def to_text(rows: Sequence[Row]) -> str:
    """Aligned columns, one line a row."""
    width = max([4, *(len(row.name) for row in rows)])
    lines = [f"{'name':<{width}} {'value':>10} {'unit':<11} {'peer':>10} {'ratio':>6} {'spread':>9}"]
    for row in rows:
        peer = "" if row.peer is None else f"{row.peer:.4g}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"{row.name:<{width}} {row.value:>10.4g} {row.unit:<11} {peer:>10} {ratio:>6} {row.spread:>9.2g}")
    return "\n".join(lines)


def _peers() -> dict[str, str]:
    try:
        return {"torch-geometric": version("torch-geometric")}
    except PackageNotFoundError:
        return {}
