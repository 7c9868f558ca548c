"""Other encodings than UTF-8, and what is said where bytes do not fit."""

from __future__ import annotations

import encodings
import gzip
import io
import pkgutil
import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from plain_reading import read_text
from row_samples import FULL

from egparse.errors import ConfigError, CorpusError, EgparseError
from egparse.io.corpus import read_corpus
from egparse.io.encodings import as_text, as_utf8, checked_encoding

TEXT = "Œuvre et café\r\nnaïve.\n\nFin"


class Slow(io.BytesIO):
    """A pipe that gives one byte at a time."""

    def read1(self, _: int | None = -1) -> bytes:
        return self.read(1)


def text_fault(data: bytes, encoding: str = "utf-8", *, slow: bool = False) -> str:
    stream = Slow(data) if slow else io.BytesIO(data)
    with pytest.raises(CorpusError) as caught:
        list(read_text(stream, name="a.txt", encoding=encoding))
    return str(caught.value)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "cp1252", "utf-7"]
)
@pytest.mark.parametrize("kind", [io.BytesIO, Slow])
def test_texts_and_corpora_in_other_encodings(encoding: str, kind: type[io.BytesIO]) -> None:
    expected = list(read_text(io.StringIO(TEXT)))
    assert list(read_text(kind(TEXT.encode(encoding)), encoding=encoding)) == expected
    corpus = kind(gzip.compress(FULL.encode(encoding)))
    assert list(read_corpus(corpus, encoding=encoding)) == list(read_corpus(io.StringIO(FULL)))


def test_python_knows_encodings_by_many_names() -> None:
    assert checked_encoding("UTF8") == checked_encoding("utf-8-sig") == "utf-8"
    assert checked_encoding("Latin1") == checked_encoding("ISO-8859-1") == "iso8859-1"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("latin-l", "; did you mean latin-1?"),
        ("utf-61", "; did you mean utf-16?"),
        ("", ""),
        ("a\0b", ""),
        ("klingon-0", ""),
    ],
)
def test_unknown_encodings_are_refused(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_encoding(name)
    said = str(caught.value)
    assert said.startswith("encoding: expected one that Python knows, such as utf-8")
    assert "\0" not in said
    if hint:
        assert said.endswith(hint)
    with pytest.raises(ConfigError):
        read_corpus(io.BytesIO(b""), encoding=name)


@pytest.mark.parametrize(
    "name", ["base64", "rot13", "hex", "zlib", "uu", "idna", "punycode", "unicode_escape"]
)
def test_codecs_of_something_else_than_text_are_refused(name: str) -> None:
    expected = "encoding: expected one of text, such as utf-8, utf-16 or latin-1"
    with pytest.raises(ConfigError, match=f"{expected}, got '{name}', which is something else"):
        checked_encoding(name)


CODECS = sorted(one.name for one in pkgutil.iter_modules(encodings.__path__))


@pytest.mark.parametrize("name", CODECS)
def test_every_codec_of_python_decodes_or_says_in_one_line_why_not(name: str) -> None:
    random = np.random.default_rng(5)
    inputs = [
        b"Hello.\n",
        b"+2AA-\n+\xff",
        bytes(range(256)),
        b"\xff\xfe\x00\xd8\n",
        b"\x1b$B",
        b"",
    ]
    inputs += [random.bytes(size) for size in (1, 2, 3, 60, 300)]
    for data, step, decoded in product(inputs, (1, 7, 1000), (as_text, as_utf8)):
        pieces = (data[k : k + step] for k in range(0, len(data), step))
        said = ""
        try:
            list(decoded(pieces, name, "f"))
        except EgparseError as error:
            said = str(error)
        assert re.fullmatch(r"|f:[0-9]+: expected .*|encoding: expected one .*", said)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    ("data", "encoding", "said"),
    [
        (
            b"One.\nA caf\xe9 there.\n",
            "utf-8",
            "2: expected UTF-8 text, got the byte 0xe9 in place of character 6",
        ),
        (
            b"One.\nA b\x81 there.\n",
            "windows-1252",
            "2: expected cp1252 text, got the byte 0x81 in place of character 4",
        ),
        (b"One.\nA caf\xc3", "utf-8", "2: expected UTF-8 text, got an end inside a character"),
        (
            "One.\ntwo".encode("utf-16-be") + b"\xdc\x00x",
            "utf-16-be",
            "2: expected utf-16-be text, got the byte 0xdc in place of character 4",
        ),
        (b"caf\xe9", "ascii", "1: expected ascii text, got the byte 0xe9 in place of character 4"),
        (
            b"One.\ntwo.",
            "utf-16",
            "1: expected utf-16 text, got no byte order mark: say --encoding utf-16-le or",
        ),
        (
            "One.".encode("utf-32-le"),
            "utf-32",
            "1: expected utf-32 text, got no byte order mark: say --encoding utf-32-le or",
        ),
        (b"One.\nA +2AA- b", "utf-7", r"2: expected UTF-8 text, got the lone surrogate '\ud800'"),
    ],
)
def test_bytes_that_do_not_fit_have_a_place(
    data: bytes, encoding: str, said: str, slow: bool
) -> None:
    assert text_fault(data, encoding, slow=slow).startswith(f"a.txt:{said}")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"A caf\xe9 there.\n", "; if it is latin-1, say --encoding latin-1"),
        (b"A \x93caf\xe9\x94 there.\n", "; if it is windows-1252, say --encoding windows-1252"),
        ("Œuvre".encode() + b" damag\xe9d.\n", ""),  # UTF-8 but for one byte
        ("Привет".encode("koi8-r"), ""),  # who knows
        (b"a \x81\x8d caf and more\n", ""),
    ],
)
def test_a_likely_encoding_is_named(data: bytes, hint: str) -> None:
    said = text_fault(data)
    assert said.partition(" in place of character ")[2].lstrip("0123456789") == hint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_byte_order_marks_of_other_encodings_are_recognised(encoding: str) -> None:
    got = f"got a byte order mark of {encoding.upper()}: say --encoding {encoding}"
    assert text_fault("Hi.".encode(encoding)) == f"a.txt:1: expected UTF-8 text, {got}"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(encoding: str) -> None:
    got = f"got what looks like UTF-16: say --encoding {encoding}"
    assert text_fault("Hi there.".encode(encoding)) == f"a.txt:1: expected UTF-8 text, {got}"


def test_text_is_the_same_by_both_ways() -> None:
    data = TEXT.encode("utf-16")
    as_bytes = b"".join(as_utf8(iter([data[:3], data[3:]]), "utf-16", "f"))
    assert as_bytes.decode() == "".join(as_text(iter([data]), "utf-16", "f")) == TEXT


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image"),
        (b"GIF89a\x01\x00\x01\x00\x80", "a GIF image"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF file: convert it to text first"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "a file of an office program: convert it to text"),
        (b"PK\x03\x04\x14\x00\x06\x00", "a zip archive: unpack it first"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\xc3\xff", "what looks like a binary file"),
        (np.random.default_rng(1).bytes(3000), "what looks like a binary file"),
    ],
)
def test_what_is_no_text_is_said_to_be_none(
    data: bytes, said: str, compress: Callable[[bytes], bytes]
) -> None:
    assert text_fault(compress(data)).startswith(f"a.txt:1: expected text, got {said}")
    with pytest.raises(CorpusError, match="expected text, got"):
        list(read_corpus(io.BytesIO(compress(data))))


def test_a_text_with_some_control_characters_is_a_text() -> None:
    data = "Œuvre\x00 \x07 \x1b[31m".encode() + bytes(range(32))
    assert list(read_text(io.BytesIO(data)))
    assert text_fault(b"\x00 A caf\xe9 " + 60 * b"there ").startswith(
        "a.txt:1: expected UTF-8 text"
    )
