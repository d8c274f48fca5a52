"""The page of ``nmrgcl view`` in headless Chromium, with very many points: time to paint, and frames per second.

    .venv-view/bin/python benchmarks/view.py --points 100000        # make test-view makes that environment

It needs chromium and playwright. Points are random; what a browser does with them does not depend on where they are
from.
"""

import argparse
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import dataset_of
from nmrgcl.data.loading import load
from nmrgcl.graphs import Graphs
from nmrgcl.model_folder import load_model
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from nmrgcl.view import Viewed, open_server
from nmrgcl.view.placed import Placed

CPU = torch.device("cpu")
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--no-proxy-server"]
FRAMES = """async (frames) => {
  const scatter = view.scatter(), times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let n = 0; n < frames; n++) {
    scatter.zoomToLocation([0.3 * Math.sin(n / 9), 0.3 * Math.cos(n / 9)], 0.6 + 0.3 * Math.sin(n / 5));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}"""


@contextmanager
def served(points: int) -> Iterator[str]:
    """The address of a page with so many points."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        settings = resolve("graphcl", assignments=["epochs=2", "encoder.units=16"])
        list(pretrain_seeds(load("MUTAG"), settings, seeds=[0], out=out, device=CPU, data="MUTAG"))
        viewed = Viewed(out, data=None, device=CPU)
        chance = np.random.default_rng(0)
        kinds = chance.integers(0, 6, points)
        z = (chance.normal(size=(6, 64))[kinds] + 0.7 * chance.normal(size=(points, 64))).astype(np.float32)
        path = torch.tensor([[0, 1], [1, 0]])
        edges = torch.cat([path + 2 * n for n in range(2)], 1)
        small = Graphs.build(edges, torch.tensor([0, 2, 4]), y=torch.tensor([0, 1]))
        many = small.take(torch.arange(points) % 2)
        dataset = dataset_of(Graphs.build(many.edge_index, many.node_ptr, y=torch.from_numpy(kinds)))
        placed = Placed(dataset, load_model(out / "seed-0"), z)
        viewed.placed = lambda seed: placed  # type: ignore[method-assign]
        with open_server([viewed], port=0) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield server.address
            server.shutdown()
            thread.join()


def cpu_seconds(tools: Any) -> float:
    """What all processes of the browser have taken so far: with a software renderer that is the drawing, too."""
    return float(sum(one["cpuTime"] for one in tools.send("SystemInfo.getProcessInfo")["processInfo"]))


def main() -> None:
    """Print one JSON object."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    with served(given.points) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_function("performance.getEntriesByName('map').length > 0", timeout=120_000)
        whole = time.perf_counter() - began
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        mapped = page.evaluate("performance.getEntriesByName('map')[0].startTime")
        page.evaluate(FRAMES, 5)
        tools = browser.new_browser_cdp_session()
        before = cpu_seconds(tools)
        times = sorted(page.evaluate(FRAMES, given.frames))
        taken = cpu_seconds(tools) - before
        gpu = page.evaluate(
            "(() => { const gl = document.createElement('canvas').getContext('webgl');"
            " return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info').UNMASKED_RENDERER_WEBGL); })()"
        )
        if given.picture:
            page.screenshot(path=given.picture, full_page=True)
        browser.close()
    found = {
        "points": given.points,
        "first_paint_ms": round(paint or 0),
        "map_drawn_ms": round(mapped),
        "page_seconds": round(whole, 2),
        "frames_per_second": round(1000 / times[len(times) // 2], 1),
        "slowest_frame_ms": round(times[-1], 1),
        "cpu_ms_per_frame": round(1000 * taken / given.frames, 1),
        "renderer": gpu,
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
