"""The output of a command: standard output, or a file that is replaced atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from egparse.errors import EgparseError
from egparse.storage.atomic import open_atomically


def require_misc(format: str, name: str) -> None:
    """Check that an output format has a place for the probabilities of --marginals: the column
    MISC, or JSON.

    Raises:
        EgparseError: it has none; ``name`` is that of the input.
    """
    from egparse.io.output_formats import FORMATS

    if format not in ("conllu", "json", "jsonl"):
        wanted = "CoNLL-U or text for --marginals, which writes to the column MISC"
        if format in FORMATS:
            wanted = "CoNLL-U or JSON for --marginals, which has a place for them"
        raise EgparseError(f"{name}: expected {wanted}, got {format}")


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
