"""The input of ``parse`` and ``visualize``: a file or standard input, whose format is detected."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from egparse.cli.options import InputFormat
from egparse.readers.blocks import CHUNK, open_file
from egparse.readers.detection import format_of_name, is_conllu_comment, is_first_row

STANDARD = Path("-")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Input(AbstractContextManager["Input"]):
    """An open stream of bytes; ``name`` is for messages.

    ``read`` returns first the bytes that ``format`` has read ahead, then those that the source has
    available: a pipe is read as it fills.
    """

    def __init__(self, path: Path) -> None:
        self.name = "<stdin>" if path == STANDARD else str(path)
        self._open = ExitStack()
        stream = (
            sys.stdin.buffer
            if path == STANDARD
            else self._open.enter_context(open_file(path, self.name))
        )
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
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
        """Available bytes, none at the end."""
        return self._head.pop(0) if self._head else self._read(size)

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
        begun = b""
        while piece := self._read(CHUNK):
            self._head.append(piece)
            *lines, begun = (begun + piece).removeprefix(_BYTE_ORDER_MARK).split(b"\n")
            for line in lines:
                if line.strip() and (line[:1] != b"#" or is_conllu_comment(_as_text(line))):
                    return _by_line(line)
            if len(begun) > CHUNK:  # no corpus has such a line
                break
        return _by_line(begun)


def _by_line(line: bytes) -> InputFormat | None:
    text = _as_text(line)
    if is_conllu_comment(text):
        return InputFormat.CONLLU
    return None if is_first_row(text) else InputFormat.TEXT


def _as_text(line: bytes) -> str:
    """The line as text, whatever its encoding: only its ASCII characters matter here."""
    return line.decode("latin-1")
