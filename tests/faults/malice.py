"""Files that mean harm, given to every reader: nothing is run, nothing is written elsewhere, one line is told."""

import hashlib
import json
import resource
import tarfile
from collections.abc import Callable
from pathlib import Path

from nmrgcl.checksums import write_checksums
from nmrgcl.data.formats.planetoid import read_planetoid
from nmrgcl.data.loading import load
from nmrgcl.model_folder import load_model
from nmrgcl.run.embeddings import read_embeddings
from nmrgcl.run.folder import read_record
from nmrgcl.settings import Settings, read_config
from nmrgcl.store import MANIFEST, open_store
from nmrgcl.train.checkpoint import FORMAT, read_checkpoint
from tests.faults import child
from tests.faults import payloads as p
from tests.faults.scan import scan
from tests.faults.small import scratch, train, uninterrupted
from tests.faults.tally import Tally

MEMORY = 512 << 20
"""Beyond what the process has: a bomb of a gigabyte must be refused before it is unpacked."""
Attack = Callable[[Path, Path], Callable[[], object]]
"""(a folder to write in, the marker) → what reads it."""


def malice() -> Tally:
    """Every attack, each in a process of its own."""
    tally = Tally("malicious files: nothing run, nothing escaped, one line")
    with tally.timed(), scratch() as folder:
        uninterrupted()
        train(folder / "run")
        for number, (name, attack) in enumerate(_attacks(folder / "run" / "seed-0").items()):
            with tally.trial(name):
                _suffer(folder / f"attack-{number}", attack, harmless=name.startswith("harmless"))
        with tally.trial("the sources call nothing that runs what is in a file"):
            assert not scan(), str(scan())
    return tally


def _suffer(root: Path, attack: Attack, *, harmless: bool) -> None:
    inside = root / "deep" / "inside"
    inside.mkdir(parents=True)
    marker = root / "marker"
    read = attack(inside, marker)
    before = sorted(root.rglob("*"))
    child.run(lambda: read_limited(read)).expect(child.REFUSED, *([child.DONE] if harmless else []))
    after = sorted(root.rglob("*"))
    assert not marker.exists(), "the payload was run"
    assert after == before, f"files appeared: {set(after) - set(before)}"


def read_limited(read: Callable[[], object]) -> None:
    """Read with little memory to fill."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))
    read()


def _file(name: str, content: bytes | str | Callable[[Path], bytes | str], read: Callable[[Path], object]) -> Attack:
    """One file, and what reads it."""

    def attack(folder: Path, marker: Path) -> Callable[[], object]:
        made = content(marker) if callable(content) else content
        (folder / name).write_bytes(made.encode() if isinstance(made, str) else made)
        return lambda: read(folder / name)

    return attack


def _attacks(model: Path) -> dict[str, Attack]:
    return {**_pickles(model), **_arrays(), **_archives(), **_texts(model)}


def _pickles(model: Path) -> dict[str, Attack]:
    def processed(folder: Path, marker: Path) -> Callable[[], object]:
        for name in ("data.pt", "pre_transform.pt", "pre_filter.pt"):
            (folder / "processed").mkdir(exist_ok=True)
            (folder / "processed" / name).write_bytes(p.torch_file(marker))
        return lambda: load(str(folder))

    def planetoid(folder: Path, marker: Path) -> Callable[[], object]:
        for part in ("x", "y", "tx", "ty", "allx", "ally", "graph"):
            (folder / f"ind.cora.{part}").write_bytes(p.pickled(marker))
        (folder / "ind.cora.test.index").write_text("0\n")
        return lambda: read_planetoid(folder, "Cora")

    return {
        "a pickle as checkpoint": _file("step-0000000001.ckpt", p.pickled, read_checkpoint),
        "a torch file as checkpoint": _file("step-0000000001.ckpt", p.torch_file, read_checkpoint),
        "a pickle with a checkpoint's head": _file(
            "step-0000000001.ckpt", lambda m: _headed(p.pickled(m)), read_checkpoint
        ),
        "a pickle as weights": _model(model, {"model.safetensors": p.pickled}),
        "a torch file as weights": _model(model, {"model.safetensors": p.torch_file}),
        "a pickle as configuration": _model(model, {"config.json": p.pickled}),
        "a folder that PyG processed": processed,
        "Planetoid pickles": planetoid,
        "a pickle as archive": _file("x.zip", p.pickled, lambda path: load(str(path))),
        "a torch file as archive": _file("x.zip", p.torch_file, lambda path: load(str(path))),
    }


def _headed(content: bytes) -> bytes:
    return f"{FORMAT} 1 {hashlib.sha256(content).hexdigest()}\n".encode() + content


def _model(model: Path, changes: dict[str, bytes | str | Callable[[Path], bytes | str]]) -> Attack:
    """A model folder with files replaced, and checksums that are right for them."""

    def attack(folder: Path, marker: Path) -> Callable[[], object]:
        for file in model.iterdir():
            made = changes.get(file.name, file.read_bytes())
            made = made(marker) if callable(made) else made
            (folder / file.name).write_bytes(made.encode() if isinstance(made, str) else made)
        write_checksums(folder)
        return lambda: load_model(folder)

    return attack


def _arrays() -> dict[str, Attack]:
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
    contents: dict[str, bytes | Callable[[Path], bytes]] = {
        "embeddings of objects": p.object_npz,
        "a pickle as embeddings": p.pickled,
        "a torch file as embeddings": p.torch_file,
        "an array that claims a terabyte": p.npz_of(shape % f"({1 << 34}, 8)"),
        "an array that claims more than there are atoms": p.npz_of(shape % f"({10**30}, 8)"),
        "an array of negative size": p.npz_of(shape % "(-5, 8)"),
        "an array header that calls": p.npz_of(shape % "(__import__('os').getpid(), 8)"),
        "an array header without end": p.npz_of("{'descr':" + "[" * 5000),
        "an array header of ten megabytes": p.npz_of(" " * 10_000_000),
        "embeddings that unpack to a gigabyte": p.bomb_zip("z.npy"),
    }
    return {name: _file("z.npz", content, read_embeddings) for name, content in contents.items()}


def _archives() -> dict[str, Attack]:
    climbing = {f"../../{name}": text for name, text in p.TU.items()}
    rooted = {f"/tmp/nmrgcl-escaped/{name}": text for name, text in p.TU.items()}
    regular = [p.tar_entry(f"X/{name}") for name in p.TU if name != "X_A.txt"]
    links = {
        kind: p.tarred([p.tar_entry("X/X_A.txt", code, "/etc/passwd"), *regular])
        for kind, code in {
            "symbolic link": tarfile.SYMTYPE,
            "hard link": tarfile.LNKTYPE,
            "device": tarfile.CHRTYPE,
            "block device": tarfile.BLKTYPE,
            "pipe": tarfile.FIFOTYPE,
        }.items()
    }
    contents: dict[str, bytes] = {
        # Only the last part of a name is used and nothing is unpacked to disk, so these are plain datasets.
        "harmless: a zip that climbs": p.zipped(dict(climbing)),
        "harmless: a zip with absolute names": p.zipped(dict(rooted)),
        "harmless: a tar that climbs": p.tarred([p.tar_entry(f"../../{name}") for name in p.TU]),
        **{f"a {kind} in a tar": content for kind, content in links.items()},
        "a zip that unpacks to a gigabyte": p.bomb_zip("X/X_A.txt"),
        "an xz that unpacks to a gigabyte": p.bomb_xz(),
        "a zip of names without files": p.zipped({"X/": "", "X/X_A.txt/": ""}),
    }
    return {name: _file("X.zip", content, lambda path: load(str(path))) for name, content in contents.items()}


def _texts(model: Path) -> dict[str, Attack]:
    config = json.loads((model / "config.json").read_text())

    def settings_with(key: str, value: object) -> str:
        changed = json.loads(json.dumps(config))
        changed["settings"][key] = value
        return json.dumps(changed)

    def as_settings(path: Path) -> object:
        return Settings.from_dict(read_config(path), source=str(path))

    huge = "1" * 100_000
    return {
        "deep JSON as run record": _file("run.json", p.deep_json(), lambda path: read_record(path.parent)),
        "deep JSON as manifest": _file(MANIFEST, p.deep_json(), lambda path: open_store(path.parent)),
        "deep JSON as settings": _file("s.json", p.deep_json(), as_settings),
        "deep TOML as settings": _file("s.toml", f"a = {p.deep_json()}", as_settings),
        "a number of 100,000 digits as settings": _file("s.json", f'{{"seed": {huge}}}', as_settings),
        "YAML tags as settings": _file("s.yaml", p.yaml_tag, as_settings),
        "YAML tags as TOML": _file("s.toml", p.yaml_tag, as_settings),
        "a pickle as settings": _file("s.json", p.pickled, as_settings),
        "deep JSON in a model": _model(model, {"config.json": p.deep_json()}),
        "a method that is a path": _model(model, {"config.json": settings_with("method", "../../evil")}),
        "a method that is a module": _model(model, {"config.json": settings_with("method", "os")}),
        "a view that is a function": _model(
            model, {"config.json": settings_with("views", {"first": [{"name": "__import__", "p": "os"}]})}
        ),
        "an encoder of a billion units": _model(
            model, {"config.json": settings_with("encoder", {"units": 1_000_000_000})}
        ),
    }
