"""A web server on this machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@contextmanager
def serving(handler: Any) -> Iterator[str]:
    """The address of a server that answers with ``handler``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def serving_folder(folder: Path, asked: list[str] | None = None) -> Iterator[str]:
    """The address of a server of the files in ``folder``; it notes the paths that it is asked for."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with serving(partial(Handler, directory=str(folder))) as address:
        yield address
