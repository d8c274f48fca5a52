"""``nmrgcl view``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from nmrgcl.cli.options import AsJson, Device


def view(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run or model folders, also while they train.", show_default=False),
    ],
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Graphs for the map. (default: each run's own)")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to serve on; another than this machine's own needs the token that is printed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")] = 8686,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Serve a page about runs on this machine: curves while they train, and a map of their embeddings.

    Nothing is written to the runs, and the page asks no other machine for anything. Stop it with Ctrl-C.

    Examples:

      nmrgcl view runs/mutag

      nmrgcl view runs/mutag runs/graphcl --port 0 --open

      nmrgcl view runs/zinc --host 0.0.0.0
    """
    from nmrgcl.run.machine import choose_device
    from nmrgcl.view import Viewed, open_server

    where = choose_device(device)
    found = [Viewed(run, data=data, device=where) for run in runs]
    with open_server(found, host=host, port=port) as server:
        print(
            json.dumps({"url": server.address, "runs": [str(run) for run in runs]}) if as_json else server.address,
            flush=True,
        )
        if browse:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(0.2)
        except KeyboardInterrupt:
            print(file=sys.stderr)
