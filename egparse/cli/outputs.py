"""Where ``parse`` writes: standard output, or a file that holds all of it or what it held
before.
"""

from __future__ import annotations

import io
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from egparse.sentences import Sentence

BUFFER = 1 << 18
"""Characters written at a time."""


class Amount(NamedTuple):
    """How much has been written."""

    sentences: int
    words: int


def write(sentences: Iterable[Sentence], stream: TextIO, format: str) -> Amount:
    """Write sentences as they come, in a corpus format."""
    from egparse.readers.corpus import write_corpus

    words = 0

    def counted() -> Iterator[Sentence]:
        nonlocal words
        for sentence in sentences:
            words += len(sentence)
            yield sentence

    count = write_corpus(counted(), stream, format)
    return Amount(count, words)


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """A text stream in UTF-8 with LF line ends; None is standard output, which is never closed.

    A file appears under its name when the block has ended without an error. What is no regular file
    (``/dev/null``, a pipe) is written to directly. Raises OSError.
    """
    if path is None:
        yield _standard_output()
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "w", encoding="utf-8", newline="\n", buffering=BUFFER) as stream:
            yield stream
        return
    temporary = target.with_name(f".{target.name}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n", buffering=BUFFER) as stream:
            yield stream
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except (
        FileNotFoundError
    ) as error:  # the user knows the name of the file, not that of the temporary one
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    except PermissionError as error:
        raise PermissionError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _standard_output() -> TextIO:
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale says
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout
