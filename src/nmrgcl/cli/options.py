"""Options that several commands share."""

from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Dataset name, or a file or folder of graphs.", show_default=False)
]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to compute.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object; the rest goes to stderr.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, for example epochs=12.", show_default=False),
]
