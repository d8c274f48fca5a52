"""What the scripts in ``benchmarks/`` share: parsing arguments and printing results."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.committed import note_moves
from bench.table import Row, to_dict, to_text
from nmrgcl.atomic import write_text
from nmrgcl.run.machine import hardware, versions


def script_parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of the script."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def print_rows(rows: Sequence[Row], device: torch.device, *, as_json: bool) -> None:
    """Print the rows as a table, or as JSON together with the machine; note what moved since the committed results."""
    found = to_dict(rows, device)
    print(json.dumps(found) if as_json else to_text(rows), flush=True)
    note_moves(found)


def print_facts(facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one measurement on one line."""
    print(json.dumps(facts) if as_json else "  ".join(f"{name} {value}" for name, value in facts.items()), flush=True)


def machine(device: str | torch.device) -> dict[str, Any]:
    """Processor, device and versions of the libraries."""
    return {**hardware(torch.device(device)), **versions()}


def print_json(found: Mapping[str, Any], file: str | None) -> None:
    """Print ``found`` as JSON, and write it to ``file`` if one is given."""
    print(json.dumps(found, indent=1))
    note_moves(found)
    if file:
        write_json(found, file)


def write_json(found: Mapping[str, Any], file: str) -> None:
    """Write ``found`` to ``file``, whole or not at all, so that a killed benchmark leaves the rows before."""
    write_text(Path(file), json.dumps(found, indent=1) + "\n")
