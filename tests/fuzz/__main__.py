"""``make fuzz``: a million mutated inputs a parser, by default; a table of what became of them."""

import argparse
import json
import resource
from multiprocessing import Pool

from tests.fuzz.drive import Failure, Outcome, drive
from tests.fuzz.targets import all_targets


def run(job: tuple[str, int, int]) -> tuple[Outcome | str, float]:
    """One parser (or what it did wrong), and the most memory its process ever held, in MB."""
    name, inputs, seed = job
    outcome: Outcome | str
    try:
        outcome = drive(all_targets()[name], inputs, seed)
    except Failure as failure:
        outcome = str(failure)
    return outcome, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print one line a parser; a parser ends at its first input that is handled wrongly, and so does the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="mutated inputs a parser")
    parser.add_argument("--only", action="append", help="a parser; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="parsers at a time, each in one process")
    parser.add_argument("--out", help="also write the table as JSON")
    options = parser.parse_args()
    jobs = [(name, options.inputs, options.seed) for name in sorted(options.only or all_targets())]
    print(f"{'parser':<14} {'inputs':>9} {'accepted':>9} {'refused':>9} {'per second':>10} {'slowest':>9} {'peak':>8}")
    rows = []
    with Pool(options.jobs, maxtasksperchild=1) as pool:
        for o, peak in pool.imap_unordered(run, jobs):
            if isinstance(o, str):
                print(f"WRONG {o}", flush=True)
                continue
            rate = o.inputs / o.seconds
            print(
                f"{o.target:<14} {o.inputs:>9} {o.accepted:>9} {o.refused:>9} {rate:>10.0f} "
                f"{o.slowest * 1e3:>6.1f} ms {peak:>5.0f} MB",
                flush=True,
            )
            rows.append({**vars(o), "peak_mb": round(peak)})
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"seed": options.seed, "parsers": sorted(rows, key=lambda row: row["target"])}, file, indent=1)
    if len(rows) < len(jobs):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
