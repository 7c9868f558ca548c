"""Words in lines: horizontal and vertical input, as UDPipe reads it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from egparse.errors import CorpusError
from egparse.io import token_lines
from egparse.io.token_lines import read_token_lines
from egparse.sentences import Sentence


def read(text: str, format: str) -> list[tuple[tuple[str, ...], bool]]:
    """Forms, and whether a paragraph begins."""
    found = read_token_lines(io.BytesIO(text.encode()), format)
    return [(tuple(one.forms), "# newpar" in one.comments) for one in found]


def test_horizontal_lines_are_sentences() -> None:
    text = "\ufeffThe cat  sat\t.\r\n It slept . \n\n \n10\u00a0000 \u3000x y"
    assert read(text, "horizontal") == [
        (("The", "cat", "sat", "."), True),
        (("It", "slept", "."), False),
        (("10 000", "\u3000x", "y"), True),
    ]


def test_vertical_lines_are_words() -> None:
    text = "The\tDT\n cat \r\n10 000\tCD\n# x\n\nIt\n\n\n\nslept"
    assert read(text, "vertical") == [
        (("The", "cat", "10 000", "# x"), True),
        (("It",), False),
        (("slept",), True),
    ]


@pytest.mark.parametrize("format", ["horizontal", "vertical"])
def test_nothing_is_read_from_nothing(format: str) -> None:
    assert read("", format) == read(" \n\n\t\n", format) == []


def test_sentences_are_numbered_and_have_blanks_between_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a b\nc\n")
    (first, second) = read_token_lines(path, "horizontal", first_id=7)
    assert (first.sentence_id, second.sentence_id) == ("7", "8")
    assert first == Sentence(("a", "b"), misc=("_", "_"), sentence_id="7")


def test_faulty_input_is_refused_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match=r"^x:2: expected UTF-8 text, got the byte 0xe9"):
        list(read_token_lines(io.BytesIO(b"a\nb\xe9 c\n"), "horizontal", name="x"))
    latin = read_token_lines(io.BytesIO(b"b\xe9 c\n"), "horizontal", encoding="latin-1")
    assert next(latin).forms == ("bé", "c")
    monkeypatch.setattr(token_lines, "MAX_LINES", 3)
    for text, format, line in (("a\na b c d\n", "horizontal", 2), ("\na\nb\nc\nd", "vertical", 2)):
        with pytest.raises(
            CorpusError,
            match=rf"^<stream>:{line}: expected a sentence of at most 3 words, got more",
        ):
            list(read_token_lines(io.StringIO(text), format))
    with pytest.raises(ValueError, match="expected horizontal or vertical, got 'text'"):
        list(read_token_lines(io.StringIO(""), "text"))
