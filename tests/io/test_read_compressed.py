"""Compressed corpora and texts: recognised by content, read as streams, refused in one line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from plain_reading import read_text
from row_samples import FULL

from egparse.errors import CorpusError
from egparse.io import compression
from egparse.io.compression import decompressed, without_compression
from egparse.io.corpus import read_corpus
from egparse.io.detection import format_of_name

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
every_kind = pytest.mark.parametrize("kind", COMPRESS)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[k : k + size] for k in range(0, len(data), size))


def fault(data: bytes) -> str:
    """What is said of a faulty file."""
    with pytest.raises(CorpusError) as caught:
        list(read_corpus(io.BytesIO(data), "conllu", name="c.gz"))
    return str(caught.value)


@every_kind
@pytest.mark.parametrize("size", [1, 7, 10**6])
@pytest.mark.parametrize("content", [b"", b"x", FULL.encode() * 20])
def test_what_was_compressed_comes_out(kind: str, size: int, content: bytes) -> None:
    data = COMPRESS[kind](content)
    assert b"".join(decompressed(pieces(data, size), "f")) == content


@pytest.mark.parametrize("size", [1, 7, 10**6])
@pytest.mark.parametrize(
    "content", [b"", b"\x1f", b"\x1f\x8b", b"B", b"BZh9", b"BZh91AY&S", b"ab\n"]
)
def test_other_bytes_are_left_alone(size: int, content: bytes) -> None:
    assert b"".join(decompressed(pieces(content, size), "f")) == content


@every_kind
def test_files_that_were_joined_are_read_to_the_end(kind: str) -> None:
    compress = COMPRESS[kind]
    data = compress(b"one") + compress(b"") + compress(b"two") + bytes(8)
    for size in (1, 5, 1000):
        assert b"".join(decompressed(pieces(data, size), "f")) == b"onetwo"


@every_kind
def test_corpora_and_texts_may_be_compressed(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus"  # whatever it is called
    path.write_bytes(COMPRESS[kind](FULL.encode()))
    assert list(read_corpus(path)) == list(read_corpus(io.StringIO(FULL)))
    path.write_bytes(COMPRESS[kind](b"A cat. A dog."))
    assert [one.forms for one in read_text(path)] == [("A", "cat", "."), ("A", "dog", ".")]


def test_the_name_tells_the_format_before_the_compression() -> None:
    assert format_of_name("a.conllu.gz") == "conllu"
    assert format_of_name("a.CONLLX.XZ") == "conllx"
    assert format_of_name("a.gz") is None
    assert without_compression("a/b.txt.zst") == "a/b.txt"


@every_kind
def test_truncated_files_are_named_with_the_line(kind: str) -> None:
    data = COMPRESS[kind](FULL.encode() * 50)
    expected = f"expected whole {kind} data, got an end in the middle: the file is truncated"
    for size in (12, len(data) // 2, len(data) - 1):
        said = fault(data[:size])
        assert said.startswith("c.gz:")
        assert said.endswith(expected)


@every_kind
def test_damaged_files_are_named(kind: str) -> None:
    data = bytearray(COMPRESS[kind](bytes(range(256)) * 500))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(CorpusError, match=f"^c:[0-9]+: expected whole {kind} data, got damaged"):
        list(decompressed(iter([bytes(data)]), "c"))
    after = COMPRESS[kind](b"whole") + b"something else"
    with pytest.raises(CorpusError, match=f"^c:1: expected whole {kind} data, got "):
        list(decompressed(iter([after]), "c"))


@every_kind
def test_a_bomb_is_unpacked_piece_by_piece(kind: str) -> None:
    data = COMPRESS[kind](bytes(30_000_000))
    tracemalloc.start()
    try:
        size = sum(map(len, decompressed(iter([data]), "f")))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size == 30_000_000
    assert peak < 12_000_000  # xz itself needs 8 MB, its dictionary


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("egparse.io.blocks.MAX_BLOCK", 1_000_000)
    expected = (
        "expected a blank line after the sentence, within 1,000,000 lines and 1,000,000 "
        "characters, got none"
    )
    assert fault(gzip.compress(b"\n\n" + b"x" * 3_000_000)) == f"c.gz:3: {expected}"
    assert fault(gzip.compress(b"\n# a\n" + b"1\tx\n" * 700_000)) == f"c.gz:2: {expected}"


def test_a_sentence_of_too_many_lines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("egparse.io.blocks.MAX_LINES", 100_000)
    rows = "".join(f"{k}\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" for k in range(1, 99_999)).encode()
    (sentence,) = read_corpus(io.BytesIO(rows))
    assert len(sentence) == 99_998
    assert fault(b"\n" + rows + rows).startswith("c.gz:2: expected a blank line after the sentence")


def test_an_xz_file_that_asks_for_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_MAX_MEMORY", 1 << 20)
    assert "expected whole xz data, got damaged data (Memory" in fault(lzma.compress(b"x" * 9999))


def test_zstandard_is_read_where_python_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\x28\xb5\x2f\xfd" + bytes(20)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    assert fault(data) == (
        "c.gz:1: expected a compression that this Python can read (Zstandard needs Python 3.14 or "
        "the package backports.zstd), got Zstandard data: decompress first"
    )

    class Decompressor:
        eof, needs_input, unused_data = False, True, b""

        def decompress(self, data: bytes, max_length: int = -1) -> bytes:
            self.eof = True
            return FULL.encode()

    module = SimpleNamespace(ZstdDecompressor=Decompressor)
    monkeypatch.setitem(sys.modules, "backports.zstd", module)
    assert list(read_corpus(io.BytesIO(data))) == list(read_corpus(io.StringIO(FULL)))


def test_archives_and_other_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(FULL)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.conllu")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        tar.add(tmp_path / "a.conllu")
    assert fault((tmp_path / "a.zip").read_bytes()).endswith("got a zip archive: unpack it first")
    assert fault((tmp_path / "a.tgz").read_bytes()).endswith("got a tar archive: unpack it first")
    assert fault(b"\x89egp\r\n\x1a\n...").endswith(
        "expected text, got a model file, to which an input is missing"
    )
