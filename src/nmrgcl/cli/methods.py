"""``nmrgcl methods``."""

import json

from nmrgcl.cli.options import AsJson


def methods(as_json: AsJson = False) -> None:
    """List the methods: every file in ``nmrgcl/methods`` is one.

    Examples:

      nmrgcl methods

      nmrgcl methods --json
    """
    from nmrgcl.methods import find_method, method_names

    kinds = {name: find_method(name) for name in method_names()}
    summaries = {name: (kind.__doc__ or "").strip().partition("\n")[0] for name, kind in kinds.items()}
    if as_json:
        rows = [
            {"name": n, "summary": summaries[n], "fixed": kind.FIXED, "presets": kind.PRESETS}
            for n, kind in kinds.items()
        ]
        print(json.dumps({"methods": rows}))
        return
    for name, summary in summaries.items():
        print(f"{name:<10} {' and '.join(f'{level}s' for level in kinds[name].PRESETS):<17} {summary}")
