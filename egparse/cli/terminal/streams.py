"""The standard streams of the program: closed ones, terminals without Unicode, full disks.

* What is closed is opened on the null device, lest the next file that is opened becomes standard
  output, and whoever reads or writes it is told that it is closed. Notices to a closed standard
  error are lost, as nobody could read a complaint.
* What the encoding of standard output lacks is escaped as in JSON.
* Errors of writing name standard output; those of standard error are ignored.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from egparse.errors import EgparseError
from egparse.storage.atomic import NamedFile

STDOUT = "standard output"
_ESCAPE = "egparse.escape"


def prepare() -> None:
    """Replace the standard streams of this process."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    codecs.register_error(_ESCAPE, _escaped)
    # Python has None for streams that are closed when it starts
    given: tuple[TextIO | None, ...] = (sys.stdin, sys.stdout, sys.stderr)
    if given[0] is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(Closed("standard input")), encoding="utf-8")
    if given[1] is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(Closed(STDOUT)), encoding="utf-8")
    elif isinstance(given[1], io.TextIOWrapper):
        sys.stdout = _rewrapped(given[1], NamedFile(given[1].fileno(), STDOUT), _ESCAPE)
    if given[2] is None:
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Notices(2)), line_buffering=True)
    elif isinstance(given[2], io.TextIOWrapper):
        sys.stderr = _rewrapped(given[2], _Notices(given[2].fileno()), given[2].errors)


def abandon_stdout() -> None:
    """Let what could not be written to standard output be forgotten: the interpreter would try
    again at its end, and fail.
    """
    try:
        sys.stdout.flush()
    except (OSError, ValueError, EgparseError):
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        if isinstance(raw, Closed):
            raw.abandoned = True
            return
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


class Closed(io.RawIOBase):
    """A stream that was closed when the program started; ``name`` is for the message."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.abandoned = False

    def readable(self) -> bool:
        """True: reading tells that the stream is closed."""
        return True

    def writable(self) -> bool:
        """True: writing tells that the stream is closed."""
        return True

    def readinto(self, buffer: Any, /) -> NoReturn:
        """Raise EgparseError."""
        raise self._fault()

    def write(self, data: Any, /) -> int:
        """Raise EgparseError, or forget the data if the stream is abandoned."""
        if not self.abandoned:
            raise self._fault()
        return len(data)

    def _fault(self) -> EgparseError:
        return EgparseError(f"{self.name}: expected an open stream, got a closed one")


class _Notices(io.FileIO):
    """Standard error: a full disk must not end hours of training; a reader that is gone may."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return len(data)


def _rewrapped(stream: io.TextIOWrapper, raw: io.FileIO, errors: str | None) -> io.TextIOWrapper:
    """A stream of the same encoding and buffering over another raw one."""
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Four-digit escapes instead of characters that cannot be encoded: an error handler."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    numbers = (int.from_bytes(units[k : k + 2], "big") for k in range(0, len(units), 2))
    return "".join(f"\\u{number:04x}" for number in numbers), error.end
