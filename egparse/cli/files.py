"""Files that arguments name: their checks before anything is read or run, and the outputs.

An output never replaces another input of the same command, by whatever name, symbolic or hard link
or descriptor it goes, and even with --force; it replaces what is of another kind, or a model, only
with --force.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO, TypeAlias

from egparse.errors import CorpusError, EgparseError
from egparse.io.compression import decompressed
from egparse.storage.files import open_atomically

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
    TABLE = "a table of words"
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
    b"arrow1": Kind.TABLE,
    b"par1": Kind.TABLE,
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
    if path.suffix.lower() == ".md":  # a heading looks like the comment of a corpus
        return Kind.MARKDOWN
    return Kind.CORPUS if _is_corpus(data, path) else Kind.TEXT


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


STANDARD = Path("-")
_STDIN, _STDOUT = 0, 1


Inputs: TypeAlias = Mapping[str, Path | None]
"""What an input is, as messages say it -> its path, ``-`` for standard input; None: not given."""


def require_file(path: Path, expected: str) -> None:
    """Raise EgparseError unless a file is there that can be read; ``expected`` says what it is."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise EgparseError(f"{path}: expected {expected}, got no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EgparseError(f"{path}: expected {expected}, got: {reason}") from None
    if stat.S_ISDIR(mode):
        raise EgparseError(f"{path}: expected {expected}, got a folder")
    if not os.access(path, os.R_OK):
        raise EgparseError(f"{path}: expected {expected}, got a file without permission to read it")


def check_output(
    path: Path | None, kind: Kind, inputs: Inputs, *, force: bool = False, regular: bool = True
) -> None:
    """Check that ``path``, or else standard output, can be written and destroys nothing.

    ``regular``: what is no regular file, such as a pipe, is refused.

    Raises:
        EgparseError: it is one of the inputs; it cannot be written; or it exists and is a model or
            of another kind than ``kind``, unless ``force``.
    """
    _check_inputs(path, inputs)
    if path is None:
        return
    check_writable(path, regular=regular)
    if force or not path.is_file():
        return
    found = kind_of(path)
    if found is Kind.MODEL:
        raise EgparseError(f"{path}: expected no such file, or --force to replace it, got {found}")
    if found not in (kind, Kind.EMPTY):
        raise EgparseError(
            f"{path}: expected {kind} to replace or no such file, got {found}; --force replaces it"
        )


def check_writable(path: Path, *, regular: bool = True) -> None:
    """Raise EgparseError if a file could not be written, before time is spent on its content."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise EgparseError(f"{path}: expected the name of a file to write, got a folder")
    if target.exists() and not target.is_file():
        if regular:
            raise EgparseError(f"{path}: expected the name of a file to write, got something else")
        if not os.access(target, os.W_OK):
            raise EgparseError(f"{path}: cannot be written: no permission")
        return
    if not target.parent.is_dir():
        raise EgparseError(f"{path}: cannot be written: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise EgparseError(
            f"{path}: cannot be written: no permission for the folder {target.parent}"
        )


def check_folder(path: Path) -> None:
    """Raise EgparseError if a folder could not be written into, or made."""
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        within = "" if place == path else f", {place}"
        raise EgparseError(f"{path}: expected the name of a folder, got a file{within}")
    if not os.access(place, os.W_OK):
        raise EgparseError(f"{path}: cannot be written: no permission for the folder {place}")


def check_distinct(outputs: Collection[Path]) -> None:
    """Raise EgparseError if two outputs are one file."""
    seen: dict[str, Path] = {}
    for path in outputs:
        other = seen.setdefault(os.path.realpath(path), path)
        if other is not path:
            raise EgparseError(f"{path}: expected another file than for the other output")


def _check_inputs(output: Path | None, inputs: Inputs) -> None:
    """Raise EgparseError if an output is one of the inputs."""
    found = identity(_STDOUT if output is None else output)
    if found is None:
        return
    for what, path in inputs.items():
        if path is not None and found == identity(_STDIN if path == STANDARD else path):
            name = "standard output" if output is None else output
            same = "" if path == output else f", {path}"
            raise EgparseError(
                f"{name}: expected another file for the output, got {what}{same}, which it would "
                "destroy"
            )


def identity(file: Path | int) -> tuple[int, int] | None:
    """Device and number of a regular file or a named pipe; None if there is no such thing."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
        return None
    return found.st_dev, found.st_ino


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """A text stream in UTF-8 with LF line ends; None is standard output, which is never closed.

    A file is replaced when the block ends without an error; see ``storage.files``. Raises OSError.
    """
    if path is None:
        from egparse.io.corpus import standard_output

        yield standard_output()
    else:
        with open_atomically(path) as stream:
            yield stream
