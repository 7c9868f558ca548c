"""Writing sentences in formats that are no corpora, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from egparse.io.json_sentences import json_line
from egparse.io.surface_lines import horizontal_line, text_lines, vertical_lines
from egparse.sentences import Sentence

FORMATS = ("json", "jsonl", "text", "horizontal", "vertical")

_LINES: dict[str, Callable[[Sentence], str]] = {
    "jsonl": lambda sentence: json_line(sentence) + "\n",
    "text": text_lines,
    "horizontal": horizontal_line,
    "vertical": vertical_lines,
}

_JSON_BEGIN, _JSON_END = b'{"sentences": [\n', b"\n]}\n"


def piece(sentences: Iterable[Sentence], format: str) -> str:
    """Some sentences of a document in one of ``FORMATS``; ``Frame`` joins the pieces."""
    if format == "json":
        return ",\n".join(map(json_line, sentences))
    return "".join(map(_LINES[format], sentences))


class Frame:
    """Joins pieces of one output in any format: ``add`` returns a piece with what has to stand
    before it, ``end`` what has to stand after the last one. Corpora need neither. ``begun`` says
    whether there was a piece.
    """

    def __init__(self, format: str, *, begun: bool = False) -> None:
        self._format = format
        self.begun = begun

    def add(self, data: bytes, *, new_document: bool = False) -> bytes:
        """A piece, in UTF-8, as it is written."""
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


def document(sentences: Iterable[Sentence], format: str) -> str:
    """A whole output in one of ``FORMATS``."""
    frame = Frame(format)
    return (frame.add(piece(sentences, format).encode()) + frame.end()).decode()
