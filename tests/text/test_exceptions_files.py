"""Files of exceptions: what they may say, and what is said of faults."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from egparse.errors import CorpusError
from egparse.storage.schema import Misfit, Stored
from egparse.text.exceptions.table import Exceptions, read_exceptions


def rows(*cells: str) -> str:
    """The lines of a sentence, each given by its ID, FORM and perhaps LEMMA, UPOS and MISC."""
    lines = []
    for row in cells:
        id_, form, lemma, upos, misc = (*row.split(" "), *"___")[:5]
        lines.append("\t".join([id_, form, lemma, upos, *"_____", misc]))
    return "\n".join(lines) + "\n\n"


def exceptions_of(*blocks: str) -> Exceptions:
    """The exceptions of a file."""
    found = read_exceptions(BytesIO("".join(blocks).encode()))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (rows("1 a*b*"), 1, "expected at most one wildcard in an exception, got 'a*b*'"),
        (rows("1 a*", "2 <emoji>"), 1, "at most one wildcard in an exception, got 'a*' and"),
        (rows("1 *"), 1, "expected text directly after *, got none"),
        (rows("1 *", "2 b"), 1, "expected text directly after *, got none"),
        (rows("1 <number>", "2 b"), 1, "expected <number> as the last of several tokens"),
        (rows("1 a _ _ SentenceEnd=Yes"), 1, "expected SentenceEnd=No in MISC, or nothing, got"),
        (rows("1-2 ab", "1 *", "2 b"), 2, "expected a wildcard that its token has, too, got *"),
        ("# text = a b\n" + rows("1 a _ _ SpaceAfter=No", "2 b"), 2, "tokens that spell 'a b'"),
        (rows("1 a") + rows("1 b", "3 c"), 4, "expected"),
    ],
)
def test_a_fault_is_said_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "mine.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError) as error:
        read_exceptions(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)


def test_a_backslash_makes_a_wildcard_a_character() -> None:
    (entry,) = exceptions_of(rows(r"1 f\*\*k")).entries
    assert entry.text == "f**k"
    assert not entry.has_wildcard


def test_a_model_file_holds_them_as_they_are() -> None:
    exceptions = exceptions_of("# why\n" + rows("1 et", "2 al. _ X SentenceEnd=No"), rows("1 *x"))
    stored = Exceptions.from_payload(Stored(exceptions.to_payload(), "exceptions"))
    assert stored == exceptions
    assert read_exceptions(BytesIO(stored.to_bytes())) == exceptions


@pytest.mark.parametrize("content", ["text", [1], ["no row"], [rows("1 a") + rows("1 b")], [""]])
def test_a_model_file_with_other_content_is_refused(content: object) -> None:
    with pytest.raises(Misfit, match="exceptions: expected"):
        Exceptions.from_payload(Stored(content, "exceptions"))


def test_what_is_added_goes_before_and_stands_once() -> None:
    own, added = exceptions_of(rows("1 a"), rows("1 b")), exceptions_of(rows("1 b"), rows("1 c"))
    assert [entry.text for entry in added.before(own).entries] == ["b", "c", "a"]


@pytest.mark.parametrize("language", ["en", "fr", "pt"])
def test_a_list_of_the_package_gives_reasons(language: str) -> None:
    shipped = read_exceptions("auto", language)
    assert shipped is not None
    assert shipped.entries[0].lines[0].startswith("# no treebank has all")


def test_a_language_without_a_list_has_no_exceptions() -> None:
    assert read_exceptions("auto", "xx") is None
    assert read_exceptions("auto", "../lists/en") is None
    assert read_exceptions("none", "en") is None
