"""Format number and defaults of all settings and options, as ``tests/defaults.json`` keeps them.

``python -m tests.defaults`` writes the file anew, and refuses where a default has changed but its ``FORMAT`` has not.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmrgcl.method_files import options_class
from nmrgcl.methods import find_method, method_names
from nmrgcl.run.cell import formats_of
from nmrgcl.settings import Settings

FILE = Path(__file__).with_name("defaults.json")
Frozen = dict[str, dict[str, Any]]


def defaults() -> Frozen:
    """Every group of settings, those without a group as "general", and every method's options."""
    settings = Settings()
    values, numbers = settings.to_dict(), formats_of(settings)
    groups = {name: group for name, group in values.items() if isinstance(group, dict) and name != "options"}
    general = {name: value for name, value in values.items() if not isinstance(value, dict)}
    found = {name: {"format": numbers.get(name, 1), "defaults": group} for name, group in groups.items()}
    for name in method_names():
        own = json.loads(json.dumps(asdict(options_class(name)())))
        found[f"method {name}"] = {"format": find_method(name).FORMAT, "defaults": own}
    return {"general": {"format": 1, "defaults": general}} | found


def changed(before: Frozen, after: Frozen) -> list[str]:
    """What has another default, or is gone, under the same format number."""
    same = [name for name in before if name in after and before[name]["format"] == after[name]["format"]]
    return [
        f"{name}: {key}"
        for name in same
        for key, value in before[name]["defaults"].items()
        if key not in after[name]["defaults"] or after[name]["defaults"][key] != value
    ]


if __name__ == "__main__":
    if found := changed(json.loads(FILE.read_text(encoding="utf-8")), defaults()):
        raise SystemExit(f"raise FORMAT, or undo the change: {', '.join(found)}")
    lines = [f' "{name}": {json.dumps(group)}' for name, group in defaults().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
