"""The output of a command: standard output, or a file that is replaced atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from egparse.storage.atomic import open_atomically


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """A text stream in UTF-8 with LF line ends; None is standard output, which is never closed.

    A file is replaced when the block ends without an error; see ``storage.atomic``. Raises OSError.
    """
    if path is None:
        from egparse.io.corpus import standard_output

        yield standard_output()
    else:
        with open_atomically(path) as stream:
            yield stream
