"""Every snippet of docs/python.md runs, in order, in one process."""

import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
SNIPPETS = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_the_snippets_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric")
    pytest.importorskip("tensorboard")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    found = SNIPPETS.findall((ROOT / "docs" / "python.md").read_text())
    assert len(found) >= 8
    names: dict[str, object] = {"__name__": "docs"}
    for number, snippet in enumerate(found, 1):
        exec(compile(snippet, f"docs/python.md, snippet {number}", "exec"), names)
    assert (tmp_path / "graphs.png").exists()
    assert list((tmp_path / "runs" / "mine").iterdir())
