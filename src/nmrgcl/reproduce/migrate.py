"""Give the rows of an item's file today's keys instead of those of version 1; all else stays as it is."""

import json
import re
from pathlib import Path

from nmrgcl import atomic, reading
from nmrgcl.errors import DataError
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_file import ITEM_FILE
from nmrgcl.reproduce.plan import Plan
from nmrgcl.run.cell import KEY
from nmrgcl.run.migrate import old_keys

_QUOTED = re.compile(rf'"({KEY.pattern})"')


def migrate_item(path: Path) -> tuple[int, int]:
    """Rewrite the keys in an item's file; returns how many rows have one, and how many of these had an old one.

    DataError, and nothing is written, where a row has a key that the item's plan does not ask for.
    """
    try:
        text = reading.read_text(path, ITEM_FILE.limit)
        values = json.loads(text)
        if values["format"] != ITEM_FILE.name:
            raise ValueError
        item, plan = find_item(values["plan"]["item"]), Plan.from_dict(values["plan"])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError(f"{path}: not the results of an item; nmrgcl reproduce writes such files") from None
    cells = [placed.cell for placed in item.cells(plan)]
    new = {key: cell.key for cell in cells for key in old_keys(cell)}
    current, old = {cell.key for cell in cells}, 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal old
        if match[1] in current:
            return match[0]
        if match[1] not in new:
            raise DataError(f"{path}: the key {match[1]} is of no cell that its plan asks for")
        old += 1
        return f'"{new[match[1]]}"'

    migrated = _QUOTED.sub(replaced, text)
    if old:
        atomic.write_text(path, migrated)
    return len(_QUOTED.findall(text)), old
