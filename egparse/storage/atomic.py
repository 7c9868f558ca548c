"""Files that are replaced atomically: a file holds all of its new content, or what it held before.

The content goes to a temporary file in the same folder, because renaming is atomic within one file
system only, and that file then takes the name. A symbolic link is followed, and the permissions of
a file that is replaced are kept.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO

BUFFER = 1 << 18
"""Characters of a text that are written at a time."""


def write_atomically(path: str | os.PathLike[str], *parts: bytes) -> None:
    """Replace the file ``path`` by one that consists of ``parts``; returns when it is on the disk.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    with _replacement(path) as temporary, open(temporary, "xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text stream, in UTF-8 with LF line ends, whose content replaces the file ``path`` when the
    block ends without an error.

    A path that is no regular file, such as ``/dev/null`` or a pipe, is written to directly.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    if Path(path).exists() and not Path(path).is_file():
        with _open_text(path, "w") as stream:
            yield stream
    else:
        with _replacement(path) as temporary, _open_text(temporary, "x") as stream:
            yield stream


def _open_text(path: str | os.PathLike[str], mode: Literal["w", "x"]) -> TextIO:
    return open(path, mode, buffering=BUFFER, encoding="utf-8", newline="\n")


@contextmanager
def _replacement(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a file to create, which takes the name ``path`` when the block ends without an
    error, and is removed when it ends with one.
    """
    target = Path(os.path.realpath(path))
    # not the name of the target and more: that may be as long as the file system allows
    temporary = target.with_name(f".egparse-{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException as error:  # KeyboardInterrupt too
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (str(temporary), temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
