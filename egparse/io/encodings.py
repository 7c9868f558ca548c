"""Encodings of text files: UTF-8 unless another one is named, and what is said about bytes that do
not fit.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from encodings import normalize_encoding
from encodings.aliases import aliases
from itertools import chain

from egparse.errors import ConfigError, CorpusError, did_you_mean

UTF_8 = "utf-8"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXT = frozenset(
    (
        *("base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec"),
        *("zlib_codec", "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"),
    )
)
"""Python's codecs of bytes, of names of hosts and of literals."""

_USUAL = ("utf-8", "utf-16", "utf-32", "latin-1", "iso-8859-1", "windows-1252", "ascii")
_SEEN = 200
"""Bytes at the beginning of a file that show UTF-16 without a mark."""

_BINARY_SEEN = 1000
_CONTROLS = bytes({*range(32)} - set(b"\t\n\v\f\r\x1a\x1b"))
_MOST_CONTROLS = 1 / 20
"""A beginning that is not UTF-8 and has more control characters is that of no text: random bytes
have twice as many.
"""


def checked_encoding(name: str) -> str:
    """Python's name of an encoding of text; ``utf-8-sig`` is UTF-8, as byte order marks are dropped
    anyway. Raises ConfigError: Python has no such encoding, or one of something else than text.
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):  # ValueError: a null character or a surrogate in the name
        similar = {one for pair in aliases.items() if pair[1] not in _NO_TEXT for one in pair}
        dashed = sorted({one.replace("_", "-") for one in similar} - {name.lower()})
        raise ConfigError(
            f"encoding: expected one that Python knows, such as utf-8, utf-16 or latin-1, got "
            f"{name!r}{did_you_mean(name.lower(), [*_USUAL, *dashed])}"
        ) from None
    if not _is_of_text(found):
        raise ConfigError(
            f"encoding: expected one of text, such as utf-8, utf-16 or latin-1, got {name!r}, "
            "which is something else"
        )
    return UTF_8 if found in (UTF_8, "utf-8-sig") else found


def _is_of_text(name: str) -> bool:
    try:
        "a".encode(name)
    except (LookupError, ValueError):
        return False
    return normalize_encoding(name) not in _NO_TEXT


def as_utf8(pieces: Iterator[bytes], encoding: str, path: str) -> Iterator[bytes]:
    """The same text in UTF-8. UTF-8 itself is passed on unchecked, but for a beginning that is
    UTF-16 or UTF-32.

    Raises:
        ConfigError: an unknown encoding.
        CorpusError: bytes that do not fit the encoding.
    """
    name = checked_encoding(encoding)
    if name == UTF_8:
        return _checked_beginning(pieces, path)
    return (text.encode() for text in checked_text(_decoded(pieces, name, path), path))


def as_text(pieces: Iterator[bytes], encoding: str, path: str) -> Iterator[str]:
    """The same text, decoded, without byte order mark; for errors see ``as_utf8``."""
    name = checked_encoding(encoding)
    if name == UTF_8:
        return _decoded(_checked_beginning(pieces, path), "utf-8-sig", path)
    return checked_text(_decoded(pieces, name, path), path)


def checked_text(texts: Iterable[str], path: str) -> Iterator[str]:
    """The same texts, in which every character is one. Raises CorpusError: a lone surrogate."""
    line = 1
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line += text.count("\n", 0, error.start)
            got = f"the lone surrogate {text[error.start]!a}"
            raise CorpusError(path, line, "UTF-8 text", got) from error
        line += text.count("\n")
        yield text


def byte_fault(line: bytes, place: int) -> str:
    """What is said of the byte ``line[place]``, which is not UTF-8, with a guess what it is."""
    return _at(line[place], len(line[:place].decode(UTF_8, "replace"))) + _guessed(line)


def _at(byte: int, before: int) -> str:
    return f"the byte 0x{byte:02x} in place of character {before + 1}"


def _guessed(line: bytes) -> str:
    likely = _likely_encoding(line)
    return f"; if it is {likely}, say --encoding {likely}" if likely else ""


def _likely_encoding(line: bytes) -> str | None:
    """A Western encoding that fits a line that is not UTF-8: its other bytes are mostly ASCII, and
    no part of it is UTF-8. None if there is no telling.
    """
    high = [byte for byte in line if byte > 0x7F]
    rest = line.decode(UTF_8, "ignore")
    if len(high) > len(line) / 4 or not rest.isascii() or b"\0" in line:
        return None
    if all(byte >= 0xA0 for byte in high):
        return "latin-1"
    try:
        line.decode("windows-1252")
    except UnicodeDecodeError:
        return None
    return "windows-1252"


def _checked_beginning(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    first = next(pieces, b"")
    for mark, name in _BYTE_ORDER_MARKS:
        if first.startswith(mark):
            got = f"a byte order mark of {name.upper()}: say --encoding {name}"
            raise CorpusError(path, 1, "UTF-8 text", got)
    start = first[:_SEEN]
    for k, name in enumerate(("utf-16-le", "utf-16-be")):
        letters, zeros = start[k::2], start[1 - k :: 2]
        if len(zeros) > 1 and not any(zeros) and all(letters):
            got = f"what looks like UTF-16: say --encoding {name}"
            raise CorpusError(path, 1, "UTF-8 text", got)
    if _is_binary(first[:_BINARY_SEEN]):
        raise CorpusError(path, 1, "text", "what looks like a binary file")
    yield from chain([first], pieces)


def _is_binary(start: bytes) -> bool:
    """Whether a file begins with bytes of no text, in whatever encoding."""
    controls = len(start) - len(start.translate(None, delete=_CONTROLS))
    if controls <= len(start) * _MOST_CONTROLS:
        return False
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(start)
    except UnicodeDecodeError:
        return True
    return False


def _decoded(pieces: Iterator[bytes], encoding: str, path: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    line, begun = 1, 0  # the current line, and its characters so far
    for piece in chain(pieces, [None]):
        state = decoder.getstate()
        try:
            try:
                text = decoder.decode(piece or b"", piece is None)
            except UnicodeDecodeError as error:
                decoder.setstate(state)
                fitting = max(0, error.start - len(state[0]))
                before = decoder.decode((piece or b"")[:fitting])
                line, begun = _after(before, line, begun)
                got = "an end inside a character" if piece is None else _described(error, begun)
                name = "UTF-8" if encoding == "utf-8-sig" else encoding
                raise CorpusError(path, line, f"{name} text", got) from error
        except UnicodeError as error:  # of UTF-16 and UTF-32, whose order of bytes is not known
            got = f"no byte order mark: say --encoding {encoding}-le or {encoding}-be"
            raise CorpusError(path, line, f"{encoding} text", got) from error
        if text:  # an empty piece would mean the end
            yield text
        line, begun = _after(text, line, begun)


def _described(error: UnicodeDecodeError, before: int) -> str:
    got = _at(error.object[error.start], before)
    if error.encoding != UTF_8:
        return got
    start = error.object.rfind(b"\n", 0, error.start) + 1
    end = error.object.find(b"\n", error.start)
    return got + _guessed(error.object[start : end if end >= 0 else len(error.object)])


def _after(text: str, line: int, begun: int) -> tuple[int, int]:
    """The line after a text, and the number of its characters, from those before it."""
    ends = text.count("\n")
    return line + ends, len(text) - 1 - text.rfind("\n") if ends else begun + len(text)
