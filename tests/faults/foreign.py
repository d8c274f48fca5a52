"""Foreign files around every command that writes: hidden files, links, names like ours; none of them ever changes."""

import os
import random
from pathlib import Path

from nmrgcl.errors import UserError
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import read_marker
from nmrgcl.predict.folder import PREDICTOR
from nmrgcl.run.evaluation import FORMATS
from nmrgcl.run.folder import RUN
from nmrgcl.store import STORE
from tests.faults.commands import COMMANDS, Command, prepare
from tests.faults.small import scratch
from tests.faults.tally import Tally

NAMES = (
    *(".git/config", ".env", ".gitignore", ".dvc/config", ".lock", ".hidden/.deep", "notes.txt", "README.md"),
    *("seed-0", "seed-1", "seed-1/notes.txt", "seed-notes.txt", "seed-list.txt", "seed-0.bak/config.json"),
    *("seed-backup/model.safetensors", ".seed-0", ".seed-0.checkpoints.old/step-0000000001.ckpt"),
    *(".seed-0.checkpoints", ".seed-1.checkpoints/notes.txt", "step-0000000001.ckpt", ".step-0000000001.ckpt.bak"),
    *("run.json", "settings.json", "config.json", "manifest.json", "evaluation.json", "splits.json", "SHA256SUMS"),
    *("evaluation.json.orig", "run.json~", ".run.json.0123456789abcdef.01234567", ".settings.json.abcd1234"),
    *("x.bin", "y.bin.orig", "report.html", "index.html", "figures/spectrum.svg", "figures/folds.pdf"),
    *("motifs.json", "motifs.toml", "table3.html", "table3.json", "table3.md", "table3-quick.html"),
    *(".work", ".work/notes.txt", ".locks", ".locks/notes.txt", ".trained", "stores/notes.txt", "stores"),
)
HIDDEN = tuple(name for name in NAMES if name.startswith("."))
BESIDE = ("place.bak", ".place.old.01234567", ".place.01234567", ".place")
SHARED = (".work", ".locks", ".trained", "stores", "figures")
CONTENTS = ("", "mine", "{", '{"name": "app"}', '{"format": "nmrgcl"}', "4242\n", "<title>mine</title>")


def foreign(amount: int, seed: int = 0) -> Tally:
    """``amount`` random trees of foreign files, one command after another."""
    tally = Tally("foreign files around every command that writes, unchanged")
    chance = random.Random(f"foreign {seed}")
    tally.facts = {"commands": len(COMMANDS), "done": 0, "refused": 0, "planted": 0}
    with tally.timed():
        for number in range(amount):
            name = list(COMMANDS)[number % len(COMMANDS)]
            with tally.trial(f"{name}, tree {number}"):
                planted, told = try_one(COMMANDS[name], chance)
                tally.facts["refused" if told else "done"] += 1
                tally.facts["planted"] += planted
    return tally


def try_one(command: Command, chance: random.Random) -> tuple[int, str]:
    """Plant, run, compare; how many entries were planted, and what the command said if it refused."""
    with scratch() as folder:
        place, outside = folder / "place", folder / "outside"
        prepare(command, place)
        (outside / "folder").mkdir(parents=True)
        for path in (outside / "file", outside / "folder" / "file", outside / "folder" / "step-0000000001.ckpt"):
            path.write_text("precious")
        names = chance.choice((NAMES, HIDDEN, command.clash or HIDDEN))
        tries = range(chance.randint(1, 6))
        roots = [root for _ in tries if (root := _plant(command, place, outside, names, chance))]
        before = [_state(path) for path in (outside, *roots)]
        told = _told(command, place)
        for root, was in zip((outside, *roots), before, strict=True):
            now = {path: state for path, state in _state(root).items() if path in was or not _is_shared(path, place)}
            assert now == was, f"{root.relative_to(folder)}: was {was}, is {now} ({told or 'done'})"
        return len(roots), told


def _told(command: Command, place: Path) -> str:
    try:
        command.work(place)
    except (UserError, OSError) as error:
        told = str(error)
        assert told, "refused without a word"
        assert told.isprintable(), f"not one clean line: {told!r}"
        return told
    return ""


def _plant(command: Command, place: Path, outside: Path, names: tuple[str, ...], chance: random.Random) -> Path | None:
    """Something foreign under a name that is free and not ours; the uppermost path that was made for it."""
    inner = sorted(path for path in place.rglob("*") if path.is_dir() and not path.is_symlink())
    base = chance.choice([place, place, place.parent, *inner])
    path = base / chance.choice(BESIDE if base == place.parent else names)
    if path.name in command.named or _is_ours(path) or not _is_free(path, place):
        return None
    root = path
    while not os.path.lexists(root.parent):
        root = root.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = chance.choice(("file", "file", "file", "folder", "link", "link to a folder", "dangling link"))
    if kind == "file":
        path.write_text(chance.choice(CONTENTS))
        path.chmod(chance.choice((0o600, 0o644, 0o755)))
    elif kind == "folder":
        path.mkdir(mode=0o750)
    else:
        path.symlink_to(outside / {"link": "file", "link to a folder": "folder", "dangling link": "none"}[kind])
    return root


def _is_free(path: Path, place: Path) -> bool:
    """Nothing has the name, and nothing but folders is on the way to it."""
    above = [parent for parent in path.parents if parent.is_relative_to(place)]
    return not os.path.lexists(path) and all(p.is_dir() and not p.is_symlink() for p in above if os.path.lexists(p))


def _is_ours(path: Path) -> bool:
    """Whether the marker of its folder stands for the name."""
    found = ((kind, read_marker(path.parent, kind)) for kind in (RUN, MODEL, PREDICTOR, STORE))
    named = any(values is not None and path.name in kind.names(values) for kind, values in found)
    if path.name in FORMATS and read_marker(path.parent, RUN) is not None:
        return False  # these say themselves whose they are
    return named or (path.name == ".seed-0.checkpoints" and read_marker(path.parent, RUN) is not None)


def _is_shared(path: Path, place: Path) -> bool:
    """Whether it is in a folder of a name of ours to which we may add files, whoever made it."""
    return path.is_relative_to(place) and path.relative_to(place).parts[0] in SHARED


def _state(root: Path) -> dict[Path, tuple[int, object]]:
    """Type, mode and content of a path and of all below it."""
    found: dict[Path, tuple[int, object]] = {}
    for path in [root, *(sorted(root.rglob("*")) if root.is_dir() and not root.is_symlink() else [])]:
        mode = path.lstat().st_mode if os.path.lexists(path) else 0
        plain = path.is_file() and not path.is_symlink()
        content = path.read_bytes() if plain else os.readlink(path) if path.is_symlink() else None
        found[path] = (mode, content)
    return found
