"""Sentences in formats that are no corpora, piece by piece: JSON, lines of text or words, trees.

A sentence is an object with all that CoNLL-U says of it, but for empty nodes, and for DEPS of the
input.

=============  =====================================================================================
``id``         ``# sent_id``; null without one
``newdoc``     the ID in ``# newdoc id``, empty without one; absent if no document begins here
``newpar``     likewise, for paragraphs
``text``       the text of the sentence, as ``Sentence.text`` has it
``start``      where the sentence starts and ends in the text of the input, in characters from 0;
``end``        absent if not known
``comments``   the other lines of comments, with ``#``; absent if there are none
``tokens``     the multiword tokens: ``first`` and ``last``, IDs of words; ``form``; ``misc``; and
               ``start`` and ``end`` if known; absent if there are none
``words``      the words, each with keys of ``Sentence.rows``: ``id`` from 1, ``form``, ``lemma``,
               ``upos``, ``xpos``, ``feats``, ``head``, ``deprel``, ``misc``; ``spans``
               if the sentence has entities or chunks; ``deps`` if it has enhanced dependencies,
               as in CoNLL-U; ``p_upos`` and so on as far as it has probabilities; and ``start`` and
               ``end`` if known
=============  =====================================================================================

A value that is not there, ``_`` in CoNLL-U, is null; the root has ``head`` 0. ``feats`` and
``misc`` are strings as in CoNLL-U. Places in the text are those of ``TokenRange`` in MISC.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from egparse.io.tree_format import tree_lines
from egparse.sentences import MISSING, MISSING_HEAD, Sentence, range_of

FORMATS = ("json", "jsonl", "text", "horizontal", "vertical", "tree")

_COMMENT = re.compile(r"#\s*(sent_id|text|newdoc|newpar)\b(?:\s+id)?\s*(?:=\s*(.*))?$")
_NEVER_MISSING = ("id", "form")
_OF_TOKENS = ("sentence", "token", "start", "end")
_NOTHING: dict[str, Any] = dict.fromkeys(
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "misc")
)

NO_BREAK_SPACE = "\u00a0"
"""Stands for a blank inside of a word where blanks separate words."""

OPENING_MARKS = ("# newpar", "# newdoc")
"""Beginnings of comments with which a paragraph or document opens."""

_DOCUMENT = b"# newdoc"
_JSON_MARK = b'"newdoc": '
"""Not part of any string in JSON, where quotes are escaped."""


def text_lines(sentence: Sentence) -> str:
    """The text of a sentence in a line, after an empty line if it opens a paragraph."""
    opens = any(line.startswith(OPENING_MARKS) for line in sentence.lines_before)
    return ("\n" if opens else "") + sentence.text + "\n"


def horizontal_line(sentence: Sentence) -> str:
    """The words of a sentence in a line, with blanks between them."""
    return " ".join(form.replace(" ", NO_BREAK_SPACE) for form in sentence.forms) + "\n"


def vertical_lines(sentence: Sentence) -> str:
    """The words of a sentence, each in a line, and an empty line."""
    return "".join(f"{form}\n" for form in sentence.forms) + "\n"


def json_line(sentence: Sentence) -> str:
    """The object of a sentence in one line, without line end."""
    return json.dumps(as_json(sentence), ensure_ascii=False)


def as_json(sentence: Sentence) -> dict[str, Any]:
    """The object of a sentence, as the table above has it."""
    made: dict[str, Any] = {"id": sentence.sentence_id}
    others = []
    for line in sentence.lines_before:
        found = _COMMENT.match(line)
        if found is None:
            if line.startswith("#"):
                others.append(line)
        elif found[1] in ("newdoc", "newpar"):
            made[found[1]] = (found[2] or "").strip()
    made["text"] = sentence.text
    tokens = [
        {
            "first": token.first + 1,
            "last": token.last + 1,
            "form": token.form,
            "misc": _value(token.misc),
            **_place(token.misc),
        }
        for token in sentence.tokens
    ]
    words = list(_words(sentence))
    places = [one for one in (*words, *tokens) if "start" in one]
    if places:
        made["start"] = min(one["start"] for one in places)
        made["end"] = max(one["end"] for one in places)
    if others:
        made["comments"] = others
    if tokens:
        made["tokens"] = tokens
    made["words"] = words
    return made


def _words(sentence: Sentence) -> Iterator[dict[str, Any]]:
    for row in sentence.rows():
        found = _NOTHING | {
            key: value if key in _NEVER_MISSING else _value(value)
            for key, value in row.items()
            if key not in _OF_TOKENS
        }
        if row["form"] == MISSING and row.get("lemma") == MISSING:  # the word is an underscore
            found["lemma"] = MISSING
        found |= _place(row.get("misc", MISSING))
        yield found


def _value(value: str | float | None) -> str | float | None:
    return None if value in (MISSING, MISSING_HEAD) else value


def _place(misc: str) -> dict[str, int]:
    found = range_of(misc)
    return {} if found is None else dict(zip(("start", "end"), found, strict=True))


_LINES: dict[str, Callable[[Sentence], str]] = {
    "jsonl": lambda sentence: json_line(sentence) + "\n",
    "text": text_lines,
    "horizontal": horizontal_line,
    "vertical": vertical_lines,
    "tree": tree_lines,
}

_JSON_BEGIN, _JSON_END = b'{"sentences": [\n', b"\n]}\n"


def piece(sentences: Iterable[Sentence], format: str) -> str:
    """Some sentences of a document in one of ``FORMATS``; ``Frame`` joins the pieces."""
    if format == "json":
        return ",\n".join(map(json_line, sentences))
    return "".join(map(_LINES[format], sentences))


class Frame:
    """Joins pieces of one output in any format, also those of a corpus: ``add`` returns a piece
    with what has to stand before it, ``end`` what has to stand after the last one. ``begun`` says
    whether there was a piece.
    """

    def __init__(self, format: str, *, begun: bool = False) -> None:
        self._format = format
        self.begun = begun

    def add(self, data: bytes, *, new_document: bool = False, name: str | None = None) -> bytes:
        """A piece, in UTF-8, as it is written. If it begins a document that has no name, that is
        ``name``, if there is one and the format has a place for it.
        """
        if name is not None:
            data = _named(data, self._format, name)
        if not data:
            return data
        begun, self.begun = self.begun, True
        if self._format == "json":
            return (b",\n" if begun else _JSON_BEGIN) + data
        if self._format == "text":
            data = data if begun else data.lstrip(b"\n")
            return b"\n" + data if begun and new_document and data[:1] != b"\n" else data
        return data

    def end(self) -> bytes:
        """What completes the output."""
        if self._format != "json":
            return b""
        return _JSON_END if self.begun else b'{"sentences": []}\n'


def _named(data: bytes, format: str, name: str) -> bytes:
    """The beginning of a document with its name, unless it has one or its format has none. A mark
    without a name, as the first sentence of a text has it, gets the name.
    """
    if format == "conllu":
        mark = f"# newdoc id = {name}\n".encode()
        if data.startswith(_DOCUMENT + b"\n"):
            return mark + data[len(_DOCUMENT) + 1 :]
        return data if _is_marked(data) else mark + data
    if format in ("json", "jsonl"):
        value = json.dumps(name, ensure_ascii=False).encode()
        first, end, rest = data.partition(b"\n")
        if _JSON_MARK in first:
            named = first.replace(_JSON_MARK + b'""', _JSON_MARK + value, 1)
            return named + end + rest
        return b"{" + _JSON_MARK + value + b", " + data[1:]
    return data


def _is_marked(data: bytes) -> bool:
    """Whether the first sentence has a comment that begins a document."""
    for line in io.BytesIO(data):
        if line[:1] != b"#":
            return False
        if line.startswith(_DOCUMENT):
            return True
    return False


def document(sentences: Iterable[Sentence], format: str) -> str:
    """A whole output in one of ``FORMATS``."""
    frame = Frame(format)
    return (frame.add(piece(sentences, format).encode()) + frame.end()).decode()
