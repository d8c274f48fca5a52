"""``make faults``: everything broken on purpose, and a table of what survived."""

import argparse
import json
import os
import sys

from tests.faults.promises import PROMISES
from tests.faults.tally import HEAD


def main() -> int:
    """Print one line a promise; 1 if any is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--only", action="append", choices=list(PROMISES), help="a promise; may be repeated")
    parser.add_argument("--share", action="store_true", help="the part that make test runs")
    parser.add_argument("--out", help="also write the table as JSON")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print(HEAD, flush=True)
    tallies = {}
    for name in options.only or PROMISES:
        promise = PROMISES[name]
        tallies[name] = promise.share() if options.share else promise.full()
        print(tallies[name].row(), flush=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({name: tally.to_dict() for name, tally in tallies.items()}, file, indent=1)
            file.write("\n")
    return int(any(tally.broken for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
