"""Ctrl-C, SIGTERM and SIGHUP: they end the program at once, and leave nothing half written.

They do not raise an exception, as Python's handler of Ctrl-C does, because libraries expect none in
the middle of their work: one that arrives while arguments are handed to a compiled kernel, or while
LLVM is put away, ends in a traceback or a crash. Instead the handler writes what standard output
has, removes temporary files, ends worker processes and leaves with 128 + the number of the signal.

Python runs handlers between two of its instructions, so a kernel that takes long delays them. A
thread, to which the system reports each signal too, ends the process in that case: after a second,
or with the next signal.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from egparse.storage.temporary import remove_unfinished

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
