"""The inputs that arguments name: files, all files of folders, addresses, standard input; each is
read as UTF-8, and its format is detected.
"""

from __future__ import annotations

import os
import re
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, cast

from egparse.cli.files import STANDARD
from egparse.cli.options import InputFormat
from egparse.errors import EgparseError, import_with_extra, system_reason
from egparse.io.blocks import CHUNK, open_file, text_pieces
from egparse.io.compression import SUFFIXES, without_compression
from egparse.io.detection import format_of_name, is_conllu_comment, is_first_row
from egparse.io.encodings import UTF_8

ENDINGS = (".conll", ".conllu", ".conllx", ".text", ".txt")
"""What names of texts and corpora in folders end in, in any case, before an ending of compression;
hidden files are not taken.
"""

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(?=[^/])")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_LOOKED_AT = 1 << 24
"""Bytes of empty lines and comments before the format, which are kept; then it counts as text."""

_PIECE = 1 << 14
"""Bytes that are read at a time: few, so that progress moves smoothly."""


class InputFile(NamedTuple):
    """A file to read, or standard input; ``relative`` is its path below the folder that was named,
    or its mere name.
    """

    path: Path
    relative: Path

    @property
    def label(self) -> str:
        """The name that output and messages give it."""
        return "<stdin>" if self.path == STANDARD else address_of(self.path) or str(self.path)


def input_files(arguments: Sequence[Path]) -> list[InputFile]:
    """The files of the arguments, in their order.

    Raises:
        EgparseError: there is no such file or folder, a folder without any text or corpus, or
            standard input twice.
    """
    if list(arguments).count(STANDARD) > 1:
        raise EgparseError("-: expected standard input once, got it twice")
    return [file for argument in arguments for file in _files(argument)]


def _files(argument: Path) -> Iterator[InputFile]:
    if argument == STANDARD:
        yield InputFile(STANDARD, Path("stdin"))
        return
    if address_of(argument) is not None:
        yield InputFile(argument, Path(argument.name))
        return
    try:
        os.stat(argument)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EgparseError(f"{argument}: cannot be read: {reason}") from None
    if not argument.is_dir():
        yield InputFile(argument, Path(argument.name))
        return
    found = sorted(_walk(argument))
    if not found:
        expected = f"expected files ending in {', '.join(ENDINGS)} (or {', '.join(SUFFIXES)} after"
        raise EgparseError(f"{argument}: {expected} that), got a folder without any")
    yield from (InputFile(path, path.relative_to(argument)) for path in found)


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            known = without_compression(name).lower().endswith(ENDINGS)
            path = Path(place, name)
            # a link to nothing is taken, and complained of; pipes are not
            if known and not name.startswith(".") and (path.is_file() or not path.exists()):
                yield path


class Input(AbstractContextManager["Input"]):
    """An open stream of bytes of UTF-8, whatever the encoding and compression of the source.

    ``name`` is for messages, ``place`` too: it has the line that shows the format, once one does.
    ``read`` returns first the bytes that ``format`` has read ahead, then
    those that the source has available. ``taken`` counts the bytes of the source so far, ``waited``
    the seconds that a pipe or a terminal had nothing.
    """

    def __init__(
        self, path: Path, encoding: str = UTF_8, *, before_waiting: Callable[[], None] | None = None
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


def address_of(path: str | os.PathLike[str]) -> str | None:
    """The address that a path is, in which ``Path`` has left one slash of several; None for a file.
    A scheme has two letters or more, and a folder of that name comes first.
    """
    text = os.fspath(path)
    found = _ADDRESS.match(text)
    if found is None or os.path.lexists(text):
        return None
    return f"{found[1]}://{'/' if found[1] == 'file' else ''}{text[found.end() :]}"


class _Content(AbstractContextManager["_Content"]):
    """The content at an address, whose errors name it; ``fileno`` is that of a local file."""

    def __init__(self, address: str, stream: IO[bytes]) -> None:
        self._address, self._stream = address, stream

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def fileno(self) -> int:
        return self._stream.fileno()

    def read(self, size: int) -> bytes:
        with _faults_at(self._address):
            return self._stream.read(size)


def open_address(address: str) -> IO[bytes]:
    """The content at an address of those that smart_open reads, as it is stored; reading it raises
    EgparseError where that fails.

    Raises:
        ConfigError: smart_open is not installed.
        EgparseError: there is nothing to read, or a package for this store is not installed.
    """
    smart_open = import_with_extra("smart_open", address)
    with _faults_at(address):
        stream = smart_open.open(address, "rb", compression="disable")
    return cast("IO[bytes]", _Content(address, stream))


@contextmanager
def _faults_at(address: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each store has errors of its own
        raise EgparseError(f"{address}: cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """What the server or the system says, which is the cause of causes of an error."""
    answer = getattr(error, "response", None)
    if (status := getattr(answer, "status_code", None)) is not None:
        return f"the server says {status} {getattr(answer, 'reason', '')}".rstrip()
    if reason := system_reason(error):
        return reason
    text = next((one for one in error.args if isinstance(one, str)), str(error))
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first or type(error).__name__


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
