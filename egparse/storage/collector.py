"""Python's search for garbage, paused while much is made that is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while a model is loaded, or the modules that it needs.

    A model has some 100,000 objects, none of them garbage, and the collector would take a third of
    the time; among the modules of spaCy one search takes 0.04 s. The collector belongs to the
    process: in threads that pause it at the same time it may resume early, which only costs time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
