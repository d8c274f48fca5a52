"""Losses of every method at seed 0, to the bit: what a change that only rearranges code has to leave as it is.

    python -m tests.losses               # a digest per method and level
    python -m tests.losses --since REV   # compared with the code of that revision; exit code 1 if any differs

Methods are trained for two epochs by their own presets on a CPU, with this checkout's tests as the common driver.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from nmrgcl import apply_features, build_method, choose_features, load, pretrain
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, find_method, method_names
from nmrgcl.run.recipe import recipe
from tests.examples import random_graphs, random_molecules
from tests.methods.members import MEMBERS, learns_from_molecules

ROOT = Path(__file__).parents[1]
EPOCHS = 2


def digests() -> dict[str, str]:
    """A digest of losses, weights and running statistics, by method and level."""
    torch.set_num_threads(1)  # More threads add up in another order.
    mutag = load("MUTAG")
    data: dict[Level, Graphs] = {
        "graph": apply_features(mutag, choose_features(mutag)),
        "node": random_graphs([300], density=0.02, features=16),
    }
    molecules = random_molecules([6, 12, 4, 9, 14, 8] * 10)
    own = method_names()  # Without the methods that exist only in the tests.
    return {
        f"{name}, {level}": _digest(name, level, molecules if learns_from_molecules(name) else data[level])
        for name, level in MEMBERS
        if name in own
    }


def _digest(name: str, level: Level, graphs: Graphs) -> str:
    preset = find_method(name).PRESETS[level]
    assignments = [] if "train.epochs" in find_method(name).FIXED else [f"epochs={EPOCHS}"]
    settings = recipe(name, preset=preset, assignments=assignments)
    method = build_method(settings, graphs.num_features)
    losses = [epoch.loss for epoch in pretrain(method, graphs, settings.train, seed=0)]
    state = hashlib.sha256(repr(losses).encode())
    for key, value in method.state_dict().items():
        state.update(key.encode() + value.numpy().tobytes())
    return state.hexdigest()[:16]


def digests_since(revision: str) -> dict[str, str]:
    """The same with the package of an earlier revision."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder, "then")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", there, revision], cwd=ROOT, check=True)
        try:
            environment = {**os.environ, "PYTHONPATH": str(there / "src")}
            command = [sys.executable, "-m", "tests.losses", "--json"]
            printed = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE).stdout
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", there], cwd=ROOT, check=True)
    found: dict[str, str] = json.loads(printed)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="REV")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    revision = arguments.since
    check = ["git", "cat-file", "-e", f"{revision}^{{commit}}"]
    if revision and subprocess.run(check, cwd=ROOT, capture_output=True).returncode:
        parser.error(f"--since {revision}: git knows no such revision; git log lists them")
    now = digests()
    if arguments.json:
        print(json.dumps(now))
        return 0
    then = digests_since(revision) if revision else now
    changed = 0
    for name, digest in now.items():
        before = then.get(name)
        changed += before not in (None, digest)
        print(f"{name:<24} {digest}{'' if before == digest else f'  was {before}' if before else '  is new'}")
    if revision:
        print(f"{changed} of {len(now.keys() & then.keys())} differ from {revision}")
    return changed > 0


if __name__ == "__main__":
    sys.exit(main())
