"""How far it is from ``nmrgcl pretrain MUTAG`` to the first sum over neighbours: files that execute, and frames.

python benchmarks/path.py
"""

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import nmrgcl
from nmrgcl.cli import main

SOURCES = str(Path(nmrgcl.__file__).parent)


def importing(frame: FrameType | None) -> bool:
    """Whether the call is part of an import, as that of a decorator is."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(SOURCES):
            return True
        frame = frame.f_back
    return False


class Arrived(BaseException):
    """The first sum has been asked for."""


def measure() -> dict[str, int]:
    """Files of the package whose functions are called, and the frames that are open at the sum."""
    seen: set[str] = set()
    frames: list[str] = []

    def look(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCES):
            if not importing(frame):
                seen.add(name)
            if frame.f_code.co_name == "neighbour_sum":
                above: FrameType | None = frame
                while above is not None:
                    if above.f_code.co_filename.startswith(SOURCES):
                        frames.append(above.f_code.co_filename)
                    above = above.f_back
                sys.setprofile(None)
                raise Arrived

    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["nmrgcl", "pretrain", "MUTAG", "--out", f"{folder}/run", "--device", "cpu", "--quiet"]
        sys.setprofile(look)
        try:
            main()
        except Arrived:
            pass
        finally:
            sys.setprofile(None)
    return {"files_called": len(seen), "frames": len(frames), "files_of_frames": len(set(frames))}


if __name__ == "__main__":
    found = measure()
    print(f"{found['files_called']} files execute, {found['frames']} frames in {found['files_of_frames']} files")
