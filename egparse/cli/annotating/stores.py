"""Inputs in stores on the network, by the addresses that smart_open reads: s3://, gs://, https://
and others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, cast

from egparse.errors import EgparseError, system_reason
from egparse.extras import import_with_extra

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(?=[^/])")


def address_of(path: str | os.PathLike[str]) -> str | None:
    """The address that a path is, in which ``Path`` has left one slash of several; None for a file.
    A scheme has two letters or more, and a folder of that name comes first.
    """
    text = os.fspath(path)
    found = _ADDRESS.match(text)
    if found is None or os.path.lexists(text):
        return None
    return f"{found[1]}://{'/' if found[1] == 'file' else ''}{text[found.end() :]}"


class _Content(AbstractContextManager["_Content"]):
    """The content at an address, whose errors name it."""

    def __init__(self, address: str, stream: IO[bytes]) -> None:
        self._address, self._stream = address, stream

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def fileno(self) -> int:
        """The descriptor of a local file. Raises OSError: there is none."""
        return self._stream.fileno()

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end.

        Raises:
            EgparseError: the connection is lost.
        """
        with _faults_at(self._address):
            return self._stream.read(size)


def open_address(address: str) -> IO[bytes]:
    """The content at an address, as it is stored; reading it raises EgparseError where that fails.

    Raises:
        ConfigError: smart_open is not installed.
        EgparseError: there is nothing to read, or a package for this store is not installed.
    """
    smart_open = import_with_extra("smart_open", address)
    with _faults_at(address):
        stream = smart_open.open(address, "rb", compression="disable")
    return cast("IO[bytes]", _Content(address, stream))


@contextmanager
def _faults_at(address: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each store has errors of its own
        raise EgparseError(f"{address}: cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """What the server or the system says, which is the cause of causes of an error."""
    answer = getattr(error, "response", None)
    if (status := getattr(answer, "status_code", None)) is not None:
        return f"the server says {status} {getattr(answer, 'reason', '')}".rstrip()
    if reason := system_reason(error):
        return reason
    text = next((one for one in error.args if isinstance(one, str)), str(error))
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first or type(error).__name__
