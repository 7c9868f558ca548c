"""The process that does nothing but run the program: its signals and standard streams.

Ctrl-C, SIGTERM and SIGHUP end the program at once, and leave nothing half written. They raise no
exception, as Python's handler of Ctrl-C does, because libraries expect none in the middle of their
work: one that arrives while arguments are handed to a compiled kernel, or while LLVM is put away,
ends in a traceback or a crash. Instead the handler writes what standard output has, removes
temporary files, ends worker processes and leaves with 128 + the number of the signal. Python runs
handlers between two of its instructions, so a kernel that takes long delays them. A thread, to
which the system reports each signal too, ends the process in that case: after a second, or with the
next signal.

A standard stream that is closed is opened on the null device, lest the next file that is opened
becomes standard output, and whoever uses it is told that it is closed. What the encoding of
standard output lacks is escaped as in JSON. Errors of writing name standard output; errors of
standard error are ignored.
"""

from __future__ import annotations

import codecs
import gc
import io
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, TextIO

from egparse.errors import EgparseError
from egparse.storage.files import NamedFile, remove_unfinished

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 1.0
"""Seconds that the main thread has to end the process."""

_USUAL = (signal.SIG_DFL, signal.default_int_handler)
_SHOW_CURSOR = b"\x1b[?25h"
_ending = threading.RLock()
"""Of the thread that ends the process. It may take it again: a second signal calls the handler
within the first call.
"""


def end_on_signals() -> None:
    """Let the signals end this process, unless they are ignored, as under nohup; in the main
    thread, once.
    """
    for number in SIGNALS:
        if signal.getsignal(number) in _USUAL:
            signal.signal(number, _end_from_handler)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt: training and tuning keep what they have."""
    if signal.getsignal(signal.SIGINT) is not _end_from_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end_from_handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: while results are saved after a first Ctrl-C, a second
    one must not destroy them.
    """
    usual = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or usual not in (signal.default_int_handler, _end_from_handler):
        yield  # SIGINT is ignored, or handled by somebody else
        return
    waiting: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if waiting:
        signal.raise_signal(signal.SIGINT)


def _watch(reader: int) -> None:
    """End the process where the main thread does not."""
    while True:
        number = os.read(reader, 1)[0]
        if signal.getsignal(number) is _end_from_handler:
            select.select([reader], [], [], PATIENCE)
            _end(number)


def _end_from_handler(number: int, frame: FrameType | None) -> None:
    with suppress(OSError, ValueError, RuntimeError):  # closed, full, or just being written
        sys.stdout.flush()
    _end(number)


def _end(number: int) -> NoReturn:
    """Put away what this process has begun, and leave."""
    _ending.acquire()  # never released: the other thread waits here for the end
    remove_unfinished()
    if "multiprocessing.process" in sys.modules:
        for child in sys.modules["multiprocessing.process"].active_children():
            child.kill()  # one that is stopped too
    with suppress(OSError):
        on_terminal = os.isatty(2)
        if on_terminal and "rich.progress" in sys.modules:
            os.write(2, _SHOW_CURSOR)  # a progress bar hides it
        if number == signal.SIGINT:
            os.write(2, b"\n" * on_terminal + b"egparse: interrupted\n")
    os._exit(128 + number)


def _forget() -> None:
    """In a fork: signals mean what they usually do, and are not reported to the parent."""
    with suppress(ValueError):  # a fork by another thread than the main one
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            if signal.getsignal(number) is _end_from_handler:
                usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                signal.signal(number, usual)


STDOUT = "standard output"
_ESCAPE = "egparse.escape"


def prepare_streams() -> None:
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


_prepared = False

_COLLECTED_EACH = 100_000
"""New objects after which Python looks for garbage. Its default, 700, takes a twentieth of a second
of the start, for modules and models that are no garbage.
"""


def prepare() -> None:
    """Replace the standard streams and the handlers of signals, and let garbage be collected
    seldom, once, in the main thread.
    """
    global _prepared
    if not _prepared:
        _prepared = True
        prepare_streams()  # first: what it opens must not be taken for a standard stream
        end_on_signals()
        gc.set_threshold(_COLLECTED_EACH)


def leave() -> None:
    """Let the interpreter end without a last search of a model and of all modules for garbage: the
    system takes the memory back.
    """
    gc.freeze()
