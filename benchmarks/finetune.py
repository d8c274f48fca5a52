"""Fine-tuning on molecules by the protocol of Hu et al.: 100 epochs of encoder and head, for one seed and for several.

    python benchmarks/finetune.py [BBBP] [--seeds 5] [--device cuda]
    python benchmarks/finetune.py BBBP --device cpu --precision float32 bf16 --epochs 5

Seconds by the clock, as ``nmrgcl finetune DATA --model none`` waits for them: building the models, recording steps,
evaluating every epoch on the validation data, and the final test, but not reading the data. One seed comes first, so
that it also pays for what a cold process loads and compiles; then several, on a GPU side by side, on a CPU in a process
per core; then one seed again.
"""

import time
from collections.abc import Sequence

import numpy as np
import torch

from bench.script import print_rows, script_parser
from bench.timing import row
from nmrgcl.data.loading import molecule_file
from nmrgcl.data.molecules import read_molecules, split_molecules
from nmrgcl.evaluate.goals import goal_of
from nmrgcl.predict.finetune import finetune_settings
from nmrgcl.predict.members import fit_members


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("dataset", nargs="?", default="BBBP")
    parser.add_argument("--labels", default="p_np", help="columns to predict, as in nmrgcl finetune")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument(
        "--precision", nargs="+", default=[], help="float32, tf32, bf16; default: what the command takes"
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    molecules = read_molecules(molecule_file(arguments.dataset), labels=arguments.labels)
    split, goal = split_molecules(molecules, "scaffold", seed=0), goal_of(molecules.labels)
    found = []
    for precision in arguments.precision or [None]:
        given: Sequence[str] = [f"epochs={arguments.epochs}", *([f"precision={precision}"] if precision else [])]
        settings = finetune_settings(given, device=device)
        for count, state in ((1, ", cold"), (arguments.seeds, ""), (1, "")):
            began = time.perf_counter()
            members = list(fit_members(molecules, split, settings, range(count), goal=goal, device=device))
            name = f"{molecules.name}: {count} seeds, {arguments.epochs} epochs, {settings.finetune.precision}{state}"
            found.append(row(name, "s", [time.perf_counter() - began]))
            tests = [member.score.test for member in members]
            print(f"{name}: test {np.mean(tests):.2f}, from {min(tests):.2f} to {max(tests):.2f}", flush=True)
    print_rows(found, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
