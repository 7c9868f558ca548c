"""Opening files that egparse looks for by itself, such as a journal or a compiled kernel: whoever
puts a named pipe in their place must not make it wait for ever.

What a user names as an input may be a pipe, and is opened as usual.
"""

from __future__ import annotations

import errno
import os
import stat


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """The descriptor of a regular file, opened as ``os.open`` does.

    Raises:
        OSError: it cannot be opened, or is something else, such as a folder or a pipe.
    """
    # pipes: for reading without waiting for the other end, for writing an error without one
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return descriptor


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file. Raises OSError as ``open_regular``."""
    with open(open_regular(path), "rb") as file:
        return file.read()
