"""Archives of molecules: what is expanded is what was packed, and anything else is one line."""

import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.loading import load
from nmrgcl.data.molecules import archive, featurise
from nmrgcl.data.molecules.archive import MAGIC, expand_molecules, pack_molecules
from nmrgcl.data.molecules.dataset import write_molecules
from nmrgcl.data.molecules.tokens import FIRST_BOND, Tokens, from_tokens, to_tokens
from nmrgcl.data.read import import_path
from nmrgcl.data.stored import open_dataset
from nmrgcl.errors import DataError, SettingError
from tests.data.molecules.test_dataset import assert_drugs, without_rdkit, write
from tests.test_store import assert_equal

SMILES = [
    "C",
    "CCO",
    "c1ccccc1",
    "C[C@H](O)C(=O)O",
    "C[C@@H](O)C(=O)O",
    "C/C=C/C",
    "C/C=C\\C",
    "[Na+].[Cl-]",
    "C1CC2CC1CC2",
    "O=[Os](=O)(=O)=O",
    "C12C3C4C1C5C2C3C45",
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    pack_molecules(load(str(write(tmp_path))), tmp_path / "drugs.molecules")
    return tmp_path / "drugs.molecules"


def test_the_numbers_of_acetic_acid_are_those_worked_by_hand() -> None:
    tokens = to_tokens(featurise(["CC(=O)O"])[0])
    carbon, oxygen = (6 - 1) * 3, (8 - 1) * 3
    single, double, single_over = FIRST_BOND + 0, FIRST_BOND + 3, FIRST_BOND + 12
    assert tokens.sizes.tolist() == [4]
    assert tokens.numbers.tolist() == [carbon, carbon, single, oxygen, double, oxygen, single_over]


def test_graphs_come_back_with_every_edge_in_its_place() -> None:
    graphs = featurise(SMILES)[0]
    assert_equal(from_tokens(to_tokens(graphs)), graphs)
    for smiles in SMILES:
        graphs = featurise([smiles])[0]
        assert_equal(from_tokens(to_tokens(graphs)), graphs)


C, LINK = 15, FIRST_BOND


@pytest.mark.parametrize(
    ("sizes", "numbers", "told"),
    [
        ([2], [C], "the sizes do not match the atoms"),
        ([], [], "the sizes do not match the atoms"),
        ([0, 1], [C], "the sizes do not match the atoms"),
        ([1], [LINK, C], "the sizes do not match the atoms"),
        ([1], [C, 65_535], "the sizes do not match the atoms"),
        ([1], [C, LINK], "out of its molecule"),
        ([1, 1], [C, C, LINK], "out of its molecule"),
        ([3], [C, C, C, LINK + 12, LINK + 12], "not in order"),
        ([3], [C, C, C, LINK, LINK + 12], "not in order"),
    ],
)
def test_numbers_that_are_no_molecules_are_refused(sizes: list[int], numbers: list[int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        from_tokens(Tokens(np.array(sizes, np.int64), np.array(numbers, np.uint16)))


def test_an_archive_is_data_that_needs_no_rdkit(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rdkit(monkeypatch)
    loaded = load(str(packed))
    assert_drugs(loaded)
    assert (loaded.name, loaded.source) == ("drugs", str(packed))
    assert loaded.store is not None
    assert_drugs(import_path(packed, tmp_path / "store"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "file"))
    assert_drugs(load(str(packed)))


def test_a_store_that_was_packed_comes_back_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "AT_A_TIME", 4)
    rows = "".join(f"{text},n{i},{i % 2}\n" for i, text in enumerate([*SMILES, "C(", *SMILES]))
    write_molecules(tmp_path / "one", write(tmp_path, f"smiles,name,y\n{rows}"))
    told: list[tuple[int, int]] = []
    pack_molecules(open_dataset(tmp_path / "one"), tmp_path / "a.molecules")
    expand_molecules(tmp_path / "two", tmp_path / "a.molecules", watch=lambda *done: told.append(done))
    assert told == [(4, 22), (8, 22), (12, 22), (16, 22), (20, 22), (22, 22)]
    for file in (tmp_path / "one").glob("*.bin"):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name
    assert open_dataset(tmp_path / "two").classes == (0, 1)


def test_zinc_takes_fewer_than_25_bytes_per_molecule(mirror: Path, tmp_path: Path) -> None:
    with lzma.open(mirror / "zinc" / "zinc250k.smi.xz", "rt") as file:
        texts = [next(file) for _ in range(4000)]
    write_molecules(tmp_path / "store", write(tmp_path, "".join(texts), "zinc.smi"))
    dataset = open_dataset(tmp_path / "store")
    pack_molecules(dataset, tmp_path / "zinc.molecules")
    assert (tmp_path / "zinc.molecules").stat().st_size < 25 * 4000  # larger blocks take fewer still
    expand_molecules(tmp_path / "back", tmp_path / "zinc.molecules")
    assert_equal(open_dataset(tmp_path / "back").graphs, dataset.graphs)


def refused(path: Path, told: str = "the archive is damaged") -> None:
    with pytest.raises(DataError) as caught:
        load(str(path))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_every_truncation_and_every_flipped_byte_is_found(packed: Path) -> None:
    content = packed.read_bytes()
    for length in range(0, len(content), 7):
        packed.write_bytes(content[:length])
        refused(packed, "damaged" if length >= len(MAGIC) else "is not an archive of molecules")
    for place in range(0, len(content), 5):
        packed.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        refused(packed, "damaged" if place >= len(MAGIC) else "is not an archive of molecules")
    packed.write_bytes(content + b"x")
    refused(packed, "there is data after the last block")


def frame(content: bytes, *, unpacked: int | None = None) -> bytes:
    """A block whose checksum is right, whatever it holds."""
    inside = lzma.compress(content)
    length = len(content) if unpacked is None else unpacked
    return archive._FRAME.pack(len(inside), length, hashlib.sha256(inside).digest()) + inside


def contents(data: bytes) -> list[bytes]:
    """What the blocks of an archive hold."""
    found, at = [], len(MAGIC)
    while at < len(data):
        packed, _, _ = archive._FRAME.unpack_from(data, at)
        at += archive._FRAME.size + packed
        found.append(lzma.decompress(data[at - packed : at]))
    return found


def test_content_that_was_changed_under_a_right_checksum_is_refused_or_still_molecules(
    packed: Path, tmp_path: Path
) -> None:
    """Bytes are replaced at random, and so are sizes in the text that lists the columns."""
    random, blocks = np.random.default_rng(0), contents(packed.read_bytes())
    accepted, told = 0, list[str]()
    for _ in range(400):
        changed = [bytearray(block) for block in blocks]
        block = changed[random.integers(len(changed))]
        for _ in range(random.integers(1, 4)):
            block[random.integers(len(block))] = random.integers(256)
        (tmp_path / "changed.molecules").write_bytes(MAGIC + b"".join(frame(bytes(block)) for block in changed))
        try:
            expand_molecules(tmp_path / "changed", tmp_path / "changed.molecules")
            dataset = open_dataset(tmp_path / "changed")
            assert len(dataset.graphs) == len(list(dataset.molecules.smiles)) == 4  # type: ignore[union-attr]
            assert int(dataset.graphs.x.max()) < 123
            accepted += 1
        except DataError as error:
            told.append(str(error))
    assert accepted > 0
    assert told
    assert not any("\n" in line for line in told)


def notes(**changed: Any) -> bytes:
    given = {"name": "a", "classes": [], "molecules": 1, "tasks": [], "rows": 1, "invalid": []}
    return frame(json.dumps(given | changed).encode())


def block(columns: list[Any], data: bytes) -> bytes:
    return frame(json.dumps(columns).encode() + b"\n" + data)


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (frame(b"\0" * 5_000_000, unpacked=10), "does not have its declared size"),
        (frame(b"[]", unpacked=3), "does not have its declared size"),
        (archive._FRAME.pack(2**31, 1, b""), "is too large"),
        (archive._FRAME.pack(1, 2**31, b""), "is too large"),
        (frame(b"[" * 100_000), "its metadata cannot be read"),
        (notes(molecules=-1), "its metadata cannot be read"),
        (notes(molecules=10**20), "its metadata cannot be read"),
        (notes(classes=["a"]), "its metadata cannot be read"),
        (notes() + frame(b"no line"), "damaged"),
        (notes() + block([["sizes", "<u2", [10**9]]], b""), "a column has an invalid type or shape"),
        (notes() + block([["sizes", "<u2", [-1]]], b""), "a column has an invalid type or shape"),
        (notes() + block([["sizes", "|O", [1]]], b"x"), "a column has an invalid type or shape"),
        (notes() + block([["sizes", "<u2", [9]]], b"xx"), "longer than its block"),
        (notes() + block([["sizes", "|u1", [1]]], b"xx"), "longer than its columns"),
        (notes() + block([["sizes", "|u1", [1]]], b"x"), "damaged"),
        (
            notes() + block([[name, "|u1", [1]] for name in ("sizes", "meaning", "low", "high")], b"\1\x0f\1\0"),
            "damaged",
        ),
    ],
)
def test_archives_that_lie_are_refused_with_one_line(tmp_path: Path, frames: bytes, told: str) -> None:
    path = tmp_path / "a.molecules"
    path.write_bytes(MAGIC + frames)
    refused(path, told)


def test_what_is_not_molecules_or_has_another_ending_is_refused(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="motifs: is not a dataset of molecules"):
        pack_molecules(load("motifs"), tmp_path / "a.molecules")
    with pytest.raises(SettingError, match=r"the ending must be \.molecules"):
        pack_molecules(load(str(packed)), tmp_path / "a.zip")
