"""The input of ``parse`` and ``visualize``: a file or standard input, whose format is detected.

A pipe or a terminal is read as it fills: what it holds is given at once, and before it is waited
for, whoever asked is told. So annotation of what has come can be written first.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from egparse.cli.annotating.stores import address_of, open_address
from egparse.cli.files.arguments import STANDARD
from egparse.cli.options import InputFormat
from egparse.io.blocks import CHUNK, open_file, text_pieces
from egparse.io.detection import format_of_name, is_conllu_comment, is_first_row
from egparse.io.encodings import UTF_8

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_LOOKED_AT = 1 << 24
"""Bytes of empty lines and comments before the format, which are kept; then it counts as text."""

_PIECE = 1 << 14
"""Bytes that are read at a time: few, so that progress moves smoothly."""


class Input(AbstractContextManager["Input"]):
    """An open stream of bytes of UTF-8, whatever the encoding and compression of the source.

    ``name`` is for messages, ``place`` too: it has the line that shows the format, once one does.
    ``read`` returns first the bytes that ``format`` has read ahead, then
    those that the source has available. ``taken`` counts the bytes of the source so far, ``waited``
    the seconds that a pipe or a terminal had nothing.
    """

    def __init__(
        self,
        path: Path,
        encoding: str = UTF_8,
        *,
        before_waiting: Callable[[], None] | None = None,
    ) -> None:
        address = address_of(path)
        self.name = "<stdin>" if path == STANDARD else address or str(path)
        self.place = self.name
        self.taken = 0
        self.waited = 0.0
        self._before_waiting = before_waiting
        self._open = ExitStack()
        stream = (
            sys.stdin.buffer
            if path == STANDARD
            else self._open.enter_context(
                open_address(address) if address else open_file(path, self.name)
            )
        )
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._awaited = _descriptor_to_await(stream)
        self._pieces = text_pieces(self._source(), encoding, self.name)
        self._head: list[bytes] = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def stream(self) -> IO[bytes]:
        """The object itself, typed as a stream: readers of corpora only call ``read``."""
        return cast("IO[bytes]", self)

    def read(self, size: int = CHUNK) -> bytes:
        """Available bytes, none at the end, whatever ``size``."""
        return self._head.pop(0) if self._head else next(self._pieces, b"")

    def format(self, asked: InputFormat) -> InputFormat | None:
        """The format asked for, or else detected from the name or the first lines; None for ten
        columns, which may be CoNLL-U or CoNLL-X.
        """
        if asked is not InputFormat.AUTO:
            return asked
        named = format_of_name(self.name)
        return InputFormat(named) if named else self._looks_like()

    def _looks_like(self) -> InputFormat | None:
        """The format by the first comment of CoNLL-U or the first other line that is no comment."""
        begun, number, looked_at = b"", 1, 0
        for piece in self._pieces:
            self._head.append(piece)
            *lines, begun = (begun + piece).removeprefix(_BYTE_ORDER_MARK).split(b"\n")
            for number, line in enumerate(lines, number):  # noqa: B020  # goes on after a piece
                if line.strip() and (line[:1] != b"#" or is_conllu_comment(_as_text(line))):
                    self.place = f"{self.name}:{number}"
                    return _by_line(line)
            number += bool(lines)
            looked_at += len(piece)
            if len(begun) > CHUNK or looked_at > _MOST_LOOKED_AT:  # no corpus begins so
                break
        if begun.strip():
            self.place = f"{self.name}:{number}"
        return _by_line(begun)

    def _source(self) -> Iterator[bytes]:
        while True:
            self._wait()
            piece = self._read(_PIECE)
            if not piece:
                return
            self.taken += len(piece)
            yield piece

    def _wait(self) -> None:
        if self._awaited is None or select.select([self._awaited], [], [], 0)[0]:
            return
        if self._before_waiting is not None:
            self._before_waiting()
        begun = time.perf_counter()
        select.select([self._awaited], [], [])
        self.waited += time.perf_counter() - begun


def size_of(path: Path) -> int | None:
    """The size of a regular file in bytes; None for what has none, such as a pipe."""
    try:
        found = os.stat(0 if path == STANDARD else path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _descriptor_to_await(stream: IO[bytes]) -> int | None:
    """The descriptor of a stream that may have nothing to read for a while; None for a regular
    file.
    """
    with suppress(OSError, ValueError):  # no descriptor, or a closed one
        descriptor = stream.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
    return None


def _by_line(line: bytes) -> InputFormat | None:
    text = _as_text(line)
    if is_conllu_comment(text):
        return InputFormat.CONLLU
    return None if is_first_row(text) else InputFormat.TEXT


def _as_text(line: bytes) -> str:
    """The line as text, whatever its encoding: only its ASCII characters matter here."""
    return line.decode("latin-1")
