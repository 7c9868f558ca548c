"""Compressed files, recognised by their first bytes and decompressed as they are read; and
compression of what is written to a file whose name says so.

gzip, bzip2, xz and Zstandard. A file may consist of several compressed parts, as ``cat`` joins
them. No call gives more than one chunk, however well the data are compressed: memory is bounded.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from egparse.errors import CorpusError, EgparseError

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""The endings of names of compressed files, before which stands that of the content."""

MAX_PIECE = 1 << 18
"""Bytes that are decompressed at a time."""

_GZIP_LEVEL = 6  # that of gzip

_MAX_MEMORY = 1 << 28
"""Bytes of memory that an xz file may ask for. ``xz -9`` needs a quarter of it; the format allows
files that need sixteen times as much.
"""

_ZSTANDARD = ("compression.zstd", "backports.zstd")  # of Python 3.14, and the same for older ones


Decompressor: TypeAlias = Any
"""A decompressor of one part, as ``bz2.BZ2Decompressor``: ``eof``, ``needs_input``,
``unused_data``, ``decompress``.
"""

Compressor: TypeAlias = Any
"""A compressor of one part, as ``bz2.BZ2Compressor``: ``compress``, ``flush``."""


class _Compression(NamedTuple):
    name: str
    signature: bytes
    opened: Callable[[], Decompressor]


class _Gzip:
    """zlib's decompressor with the interface of the other ones."""

    def __init__(self) -> None:
        self._part = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._part.eof

    @property
    def unused_data(self) -> bytes:
        return self._part.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        piece = self._part.decompress(self._part.unconsumed_tail + data, max(0, max_length))
        # zlib may hold back bytes when a piece is full
        self.needs_input = not self._part.unconsumed_tail and len(piece) < max_length
        return piece


def _zstandard_module() -> Any:
    for name in _ZSTANDARD:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError


_COMPRESSIONS = (
    _Compression("gzip", b"\x1f\x8b\x08", _Gzip),
    *(
        _Compression("bzip2", b"BZh%d" % level + block, bz2.BZ2Decompressor)
        for level in range(1, 10)
        for block in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")  # a block, or none
    ),
    _Compression(
        "xz",
        b"\xfd7zXZ\x00",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_MEMORY),
    ),
    _Compression("Zstandard", b"\x28\xb5\x2f\xfd", lambda: _zstandard_module().ZstdDecompressor()),
)

_COMPRESSORS: dict[str, Callable[[], Compressor]] = {
    ".gz": lambda: zlib.compressobj(_GZIP_LEVEL, wbits=31),
    ".bz2": bz2.BZ2Compressor,
    ".xz": lzma.LZMACompressor,
    ".zst": lambda: _zstandard_module().ZstdCompressor(),
}

_FOREIGN = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"Rar!\x1a\x07", "a rar archive: unpack it first"),
    (b"\x1f\x9d", "data that compress has compressed: uncompress them first"),
    (b"%PDF-", "a PDF file: convert it to text first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of an office program: convert it to text first"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x89egp\r\n\x1a\n", "a model file, to which an input is missing"),
)
"""Signatures of files that are neither text nor compressed text, and what they are."""

_TAR = slice(257, 262)
_TAR_SIGNATURE = b"ustar"

_LONGEST = max(len(one.signature) for one in _COMPRESSIONS)


def without_compression(name: str) -> str:
    """The name of a file without the ending that says how it is compressed."""
    ending = next((one for one in SUFFIXES if name.lower().endswith(one)), "")
    return name[: len(name) - len(ending)]


def compressor_of(name: str) -> Callable[[], Compressor] | None:
    """What compresses each part of a file, as the ending of its name says; None: nothing does.
    Raises EgparseError: a compression that this Python does not know.
    """
    made = next((made for end, made in _COMPRESSORS.items() if name.lower().endswith(end)), None)
    try:
        if made is not None:
            made()
    except ImportError:
        raise EgparseError(
            f"{name}: expected a compression that this Python can write (Zstandard needs Python "
            f"3.14 or the package {_ZSTANDARD[1]}), got .zst"
        ) from None
    return made


def decompressed(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """The content of a file, which is given in pieces; what is not compressed is passed on as it
    is. Raises CorpusError: damaged or truncated data, a compression that this Python does not know,
    or an archive or another file that is no text.
    """
    first = _beginning(pieces)
    compression = next((one for one in _COMPRESSIONS if first.startswith(one.signature)), None)
    content: Iterator[bytes] = chain([first] if first else [], pieces)
    if compression is not None:
        content = _content(content, compression, path)
        first = next(content, b"")
        content = chain([first], content)
    foreign = next((what for signature, what in _FOREIGN if first.startswith(signature)), None)
    if first[_TAR] == _TAR_SIGNATURE:
        foreign = "a tar archive: unpack it first"
    if foreign is not None:
        raise CorpusError(path, 1, "text", foreign)
    yield from content


def _beginning(pieces: Iterator[bytes]) -> bytes:
    """The first piece, or as many as show whether the content is compressed: a pipe may give single
    bytes.
    """
    first = b""
    while len(first) < _LONGEST and any(one.signature.startswith(first) for one in _COMPRESSIONS):
        piece = next(pieces, b"")
        if not piece:
            break
        first += piece
    return first


def _content(pieces: Iterator[bytes], compression: _Compression, path: str) -> Iterator[bytes]:
    part: Decompressor | None = None
    line = 1
    for data in pieces:
        rest = data
        while True:
            if part is None:
                rest = rest.lstrip(b"\0")  # tapes fill the last block
                if not rest:
                    break
                part = _opened(compression, path)
            try:
                piece = part.decompress(rest, MAX_PIECE)
            except Exception as error:  # each module has its own, and zlib's derives from none
                got = f"damaged data ({error})"
                raise CorpusError(path, line, f"whole {compression.name} data", got) from error
            if piece:
                yield piece
                line += piece.count(b"\n")
            if part.eof:
                rest, part = part.unused_data, None
            elif part.needs_input:
                break
            else:
                rest = b""
    if part is not None:
        got = "an end in the middle: the file is truncated"
        raise CorpusError(path, line, f"whole {compression.name} data", got)


def _opened(compression: _Compression, path: str) -> Decompressor:
    try:
        return compression.opened()
    except ImportError:
        expected = (
            f"a compression that this Python can read ({compression.name} needs Python 3.14 or the "
            f"package {_ZSTANDARD[1]})"
        )
        raise CorpusError(path, 1, expected, f"{compression.name} data: decompress first") from None
