"""What the scripts in ``benchmarks/`` share: parsing arguments and printing results."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from bench.table import Row, to_dict, to_text
from nmrgcl.run.machine import hardware, versions


def script_parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of the script."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def print_rows(rows: Sequence[Row], device: torch.device, *, as_json: bool) -> None:
    """Print the rows as a table, or as JSON together with the machine."""
    print(json.dumps(to_dict(rows, device)) if as_json else to_text(rows))


def print_facts(facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one measurement on one line."""
    print(json.dumps(facts) if as_json else "  ".join(f"{name} {value}" for name, value in facts.items()), flush=True)


def machine(device: str | torch.device) -> dict[str, Any]:
    """Processor, device and versions of the libraries."""
    return {**hardware(torch.device(device)), **versions()}


def print_json(found: Mapping[str, Any], file: str | None) -> None:
    """Print ``found`` as JSON, and write it to ``file`` if one is given."""
    text = json.dumps(found, indent=1)
    print(text)
    if file:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text + "\n")
