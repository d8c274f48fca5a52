"""The quick start of README.md with few epochs, by an installation: ``python -m tests.quick_start PYTHON``."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
COMMANDS = (
    "doctor",
    "pretrain MUTAG --preset graphcl --set epochs=1 --seeds 2 --out run",
    "evaluate run MUTAG --jobs 1",
    "report run MUTAG",
)


def quick_start(python: str | Path, folder: Path) -> None:
    """Run the commands, then the example in Python, in ``folder``; raise where one fails.

    There are no datasets but those that the package carries, and no network.
    """
    kept = {key: value for key, value in os.environ.items() if key not in ("NMRGCL_MIRROR", "PYTHONPATH")}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**kept, **nowhere, "NMRGCL_HOME": str(folder / "home")}

    def run(*arguments: str) -> str:
        command = [str(python), *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    told = {command.split()[0]: run("-m", "nmrgcl", *command.split()) for command in COMMANDS}
    assert all(f"\n  {row} " in told["evaluate"] for row in ("nmrgcl", "untrained")), told["evaluate"]
    assert "<svg" in (folder / "run" / "report.html").read_text(encoding="utf-8")
    example = README.read_text(encoding="utf-8").partition("## In Python")[2].split("```")[1].removeprefix("python\n")
    run("-c", example)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        quick_start(Path(sys.argv[1]).absolute(), Path(temporary))
    print(f"{sys.argv[1]}: the quick start runs")
