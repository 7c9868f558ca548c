"""Ctrl-C in training takes effect between passes, where the state of training is consistent.

An exception that a signal raises while arguments are handed to a compiled kernel can end the
process (numba does not expect one there), and what has been trained is lost. So the first SIGINT is
only noted, and ``check`` raises KeyboardInterrupt at the next safe place; the second one raises
KeyboardInterrupt at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_noted = False


@contextmanager
def deferred() -> Iterator[None]:
    """Within the block, note the first SIGINT for ``check``.

    Does nothing outside the main thread, or if SIGINT has another handler than Python's default.
    """
    global _noted
    usual = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or usual is not signal.default_int_handler
    ):
        yield
        return
    _noted = False
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        _noted = False


def noted() -> bool:
    """Whether a SIGINT has been noted, so that ``check`` will raise."""
    return _noted


def check() -> None:
    """Raise KeyboardInterrupt if a SIGINT has been noted."""
    if _noted:
        raise KeyboardInterrupt


def _note(number: int, frame: FrameType | None) -> None:
    global _noted
    if _noted:
        signal.default_int_handler(number, frame)
    _noted = True
