"""One line of JSON as one graph: what JSON means, without what Python's reader lets pass."""

import json
from typing import Any, NoReturn

from nmrgcl.errors import DataError, nearest

KEYS = frozenset(("edges", "num_nodes", "x", "node_labels", "edge_attr", "edge_labels", "edge_weight", "y"))


def parse_line(line: str, file: str, number: int) -> dict[str, Any]:
    """The keys and values of a graph; every key is known and occurs once, ``edges`` among them."""
    try:
        graph = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        reason = f"is not JSON ({error.msg}, character {error.pos + 1}); write one graph a line, such as {_EXAMPLE}"
    except _Refused as error:
        reason = str(error)
    except ValueError:
        reason = "has a number of thousands of digits, which is none of a graph; correct that line"
    except RecursionError:
        reason = "is nested too deeply to be a graph; correct that line"
    else:
        if type(graph) is not dict:
            reason = f"is not a JSON object; write one graph a line, such as {_EXAMPLE}"
        elif unknown := graph.keys() - KEYS:
            key = min(unknown)
            reason = f"unknown key {key[:32]!r}; {nearest(key[:32], KEYS)}"
        elif "edges" not in graph:
            reason = 'has no key edges; write "edges": [] for a graph without any'
        else:
            return graph
    raise DataError(f"{file}, line {number}: {reason}")


class _Refused(Exception):  # no ValueError: the reader of JSON raises that itself
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refused(f"has the key {twice[:32]!r} twice; keep one of them")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not a number of JSON; leave out what is missing, or write a finite number")


_EXAMPLE = '{"edges": [[0, 1]]}'
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
