"""Preparation of a process that does nothing but run the program."""

from __future__ import annotations

import gc

from egparse.cli.terminal import signals, streams

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
        streams.prepare()  # first: what it opens must not be taken for a standard stream
        signals.end_on_signals()
        gc.set_threshold(_COLLECTED_EACH)


def leave() -> None:
    """Let the interpreter end without a last search of a model and of all modules for garbage: the
    system takes the memory back.
    """
    gc.freeze()
