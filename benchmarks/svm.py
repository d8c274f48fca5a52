"""The SVM protocol against scikit-learn's GridSearchCV: the same scores, how much sooner?

python benchmarks/svm.py [--rows 1500] [--json]      # 6 s; one thread, inline
"""

import argparse
import json

from nmrgcl.bench.svm import compare, made_up
from nmrgcl.bench.timing import one_thread


def measure(rows: int, standardise: bool) -> dict[str, float]:
    z, y = made_up(rows)
    with one_thread():
        (seconds,), (reference,), scores = compare(z, y, standardise=standardise)
    return {
        "rows": rows,
        "standardise": standardise,
        "accuracy": round(float(scores.mean()), 2),
        "seconds": round(seconds, 2),
        "grid_search_seconds": round(reference, 2),
        "ratio": round(reference / seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for result in (measure(options.rows, standardise) for standardise in (True, False)):
        print(json.dumps(result) if options.json else "  ".join(f"{k} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
