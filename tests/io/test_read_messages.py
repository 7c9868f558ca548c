"""Messages about faulty corpora: one line that does not steer a terminal, cut, with the place."""

from __future__ import annotations

import io
import pickle

import pytest
from row_samples import row

from egparse.errors import ConfigError, CorpusError, EgparseError, one_line
from egparse.io.corpus import read_corpus

NASTY = "\x1b[31m\x00\x07\x85\u2028\u202e\x7f\r" + "x" * 500
"""Colour, NUL, bell, line ends of other systems, a change of direction, and much of it."""


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (row(NASTY), "conllu"),
        (row("1-" + NASTY), "conllu"),
        (row(1, head=NASTY), "conllu"),
        (row(1, misc="NE=" + NASTY), "conllu"),
        (NASTY + "\n", "conllu"),
        (f"# sent_id = {NASTY}\n1\tx\n", "conllu"),
        (row(NASTY), "conllx"),
        (row(1, head=NASTY), "conllx"),
        (f"a {NASTY}\n", "conll2002"),
        (f"a\t{NASTY}\tc\td\te\tf\n", "conll2000"),
        (f"{NASTY} b\n", None),
    ],
)
def test_cells_are_escaped_and_cut(text: str, format: str | None) -> None:
    with pytest.raises(CorpusError) as caught:
        list(read_corpus(io.StringIO("\n\n" + text), format, name="in\n\x1b[2J.txt"))
    said = str(caught.value)
    assert said.startswith(r"in\n\x1b[2J.txt:")
    assert caught.value.line >= 3
    assert said.isprintable()
    assert len(said) < 400


def test_every_error_is_one_line() -> None:
    for kind in (EgparseError, ConfigError):
        assert str(kind("a\nb\tc\x1b")) == r"a\nb\tc\x1b"
    said = str(EgparseError("a.conllu:1: " + "x" * 10**6 + " is the fault"))
    assert said.startswith("a.conllu:1: xxx")
    assert said.endswith("xxx is the fault")
    assert len(said) < 2100
    assert one_line("Café, 語, 😀") == "Café, 語, 😀"


def test_a_fault_passes_between_processes() -> None:
    fault = CorpusError(NASTY, 3, "ten cells", "two", "s-1")
    copied = pickle.loads(pickle.dumps(fault))
    assert (type(copied), str(copied), vars(copied)) == (CorpusError, str(fault), vars(fault))
