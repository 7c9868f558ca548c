"""Other encodings than UTF-8, and what is said where bytes do not fit."""

from __future__ import annotations

import gzip
import io

import pytest
from readers.samples import FULL

from egparse.errors import ConfigError, CorpusError
from egparse.readers.corpus import read_corpus
from egparse.readers.docs import read_text
from egparse.readers.encodings import as_text, as_utf8, checked_encoding

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
        ("base64", ""),
        ("idna", ""),
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
