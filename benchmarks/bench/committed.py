"""Results as committed: what a new measurement moved by more than its spread, and every earlier value."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = "benchmarks/results"

Costs = dict[str, tuple[float, float]]
"""The value and the spread of each cost, by its name."""


def costs(found: Mapping[str, Any]) -> Costs:
    """All rows that have a spread; what was measured once without one is left out, like a row that failed."""
    named: Costs = {}
    for row in found.get("rows", ()):
        if isinstance(row.get("spread"), dict):  # several costs of one dataset, as by epoch.py
            named |= {
                f"{row['dataset']}: {key}": (row["seconds"][key], spread) for key, spread in row["spread"].items()
            }
        elif {"name", "value", "spread"} <= row.keys() and not row.get("failed"):
            named[row["name"]] = row["value"], row["spread"]
    return named


def moves(now: Mapping[str, Any], then: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many costs both have, on the same kind of device, and those that differ by more than either spread."""
    old, new = costs(then), costs(now)
    shared = [name for name in new if name in old] if _device(now) == _device(then) else []
    told = []
    for name in shared:
        (was, before), (value, spread) = old[name], new[name]
        if abs(value - was) > max(before, spread) > 0:
            told.append(f"{name}: {was:.4g} → {value:.4g} ({value / was - 1:+.0%}; spread {max(before, spread):.2g})")
    return len(shared), told


def note_moves(found: Mapping[str, Any]) -> None:
    """Compare with every committed file that has rows of these names, on standard error."""
    for path in _git("ls-tree", "--name-only", "HEAD", f"{RESULTS}/").split():
        if path.endswith(".json"):
            shared, moved = moves(found, json.loads(_git("show", f"HEAD:{path}")))
            if shared:
                print(f"note: {len(moved)} of {shared} moved beyond their spread since {path}", file=sys.stderr)
            for line in moved:
                print(f"  {line}", file=sys.stderr)


def history() -> Iterator[tuple[str, str, str, Costs]]:
    """File, commit, date and costs of every committed version that has any, the oldest first."""
    log = _git("log", "--reverse", "--format=@ %h %cs", "--name-only", "--diff-filter=AM", "--", f"{RESULTS}/*.json")
    for line in filter(None, log.splitlines()):
        if line.startswith("@"):
            _, commit, date = line.split()
        elif found := costs(json.loads(_git("show", f"{commit}:{line}"))):
            yield Path(line).stem, commit, date, found


def _device(found: Mapping[str, Any]) -> str:
    machine = found.get("machine")
    return str(machine.get("device", "cpu")) if isinstance(machine, dict) else "cpu"


def _git(*arguments: str) -> str:
    """The output of git in the repository; nothing outside one."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout
