"""The kind of an existing file, by its beginning: whether an output may replace it. A compressed
file is of the kind of its content.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from egparse.errors import CorpusError
from egparse.io.compression import decompressed

_LOOKED_AT = 1 << 16

_CLASS = re.compile(rb"[01]+\t[^\t\n]+\t[0-9]+\n")
"""The first line of word classes as they are learned: path, word, count."""


class Kind(StrEnum):
    """Kinds of files, in the words of messages."""

    EMPTY = "an empty file"
    MODEL = "a model"
    CORPUS = "an annotated corpus"
    PAGE = "an HTML page"
    JSON = "JSON"
    HISTORY = "a history of training"
    FIGURE = "a figure"
    MARKDOWN = "Markdown"
    CLASSES = "word classes"
    TEXT = "text"
    BINARY = "binary data"
    UNREADABLE = "a file that cannot be read"


_BEGINNINGS = {
    b"<!doctype html": Kind.PAGE,
    b"<html": Kind.PAGE,
    b"\x89png": Kind.FIGURE,
    b"%pdf": Kind.FIGURE,
    b"<?xml": Kind.FIGURE,
    b"<svg": Kind.FIGURE,
}


def kind_of(path: Path, *, as_it_is: bool = False) -> Kind:
    """The kind of a regular file; text is what is nothing else. A pipe is not opened: what it holds
    can be read only once. ``as_it_is``: a compressed file is binary data.
    """
    if path.exists() and not path.is_file():
        return Kind.UNREADABLE
    try:
        with open(path, "rb") as file:
            data = file.read(_LOOKED_AT)
    except OSError:
        return Kind.UNREADABLE
    if not as_it_is:
        with suppress(CorpusError):  # data that are damaged, or that nothing here can read
            data = next(decompressed(iter([data]), path.name), b"")
    if not data.strip():
        return Kind.EMPTY
    from egparse.storage.model_file import MAGIC

    if data.startswith(MAGIC):
        return Kind.MODEL
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    for beginning, kind in _BEGINNINGS.items():
        if start.startswith(beginning):
            return kind
    if b"\0" in data:
        return Kind.BINARY
    if start[:1] in (b"{", b"["):
        return _json_kind(data)
    if _CLASS.match(data):
        return Kind.CLASSES
    return Kind.CORPUS if _is_corpus(data, path) else _text_kind(path)


def _json_kind(data: bytes) -> Kind:
    """A history has one record on each line, JSON that this program writes takes many lines."""
    try:
        record = json.loads(data.splitlines()[0])
    except ValueError:
        return Kind.JSON
    return Kind.HISTORY if isinstance(record, dict) and "iteration" in record else Kind.JSON


def _is_corpus(data: bytes, path: Path) -> bool:
    """Whether the first whole sentences are in a format of corpora; its name may say so too."""
    from egparse.io.blocks import read_blocks
    from egparse.io.detection import detect_format

    whole = data[: data.rfind(b"\n\n") + 2] or data
    try:
        detect_format(read_blocks(io.BytesIO(whole), path.name), path.name)
    except CorpusError:
        return False
    return True


def _text_kind(path: Path) -> Kind:
    return Kind.MARKDOWN if path.suffix.lower() == ".md" else Kind.TEXT
