"""The table that every benchmark returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from nmrgcl.run.machine import hardware, versions


@dataclass(frozen=True)
class Row:
    """One measured cost; lower is better.

    Attributes:
        name: what was measured and, after "to", the peer it is compared with.
        value: the median over repeats, in ``unit``.
        spread: the largest minus the smallest value.
        peer: the median of the peer in the same run, or None if there is no peer.
    """

    name: str
    value: float
    unit: str
    spread: float
    peer: float | None = None

    @property
    def ratio(self) -> float | None:
        """The cost of the peer divided by ours; above 1, ours is cheaper."""
        return None if self.peer is None else self.peer / self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("name", "value", "unit", "peer", "ratio", "spread")
        return {name: getattr(self, name) for name in names}


def to_dict(rows: Sequence[Row], device: torch.device) -> dict[str, Any]:
    """The rows, and the machine and versions they were measured with."""
    machine = {**hardware(device), "threads": 1, "versions": versions() | _peers()}
    return {"rows": [row.to_dict() for row in rows], "machine": machine}


def to_text(rows: Sequence[Row]) -> str:
    """A table with aligned columns."""
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
