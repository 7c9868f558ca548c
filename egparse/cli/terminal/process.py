"""Preparation of a process that does nothing but run the program."""

from __future__ import annotations

from egparse.cli.terminal import signals, streams

_prepared = False


def prepare() -> None:
    """Replace the standard streams and the handlers of signals, once, in the main thread."""
    global _prepared
    if not _prepared:
        _prepared = True
        streams.prepare()  # first: what it opens must not be taken for a standard stream
        signals.end_on_signals()
