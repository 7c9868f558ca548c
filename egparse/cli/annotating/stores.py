"""Inputs in stores on the network, by the addresses that smart_open reads: s3://, gs://, https://
and others.
"""

from __future__ import annotations

import os
import re
from typing import IO, cast

from egparse.errors import EgparseError, one_line
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


def open_address(address: str) -> IO[bytes]:
    """The content at an address, as it is stored.

    Raises:
        ConfigError: smart_open is not installed.
        EgparseError: there is nothing to read, or a package for this store is not installed.
    """
    smart_open = import_with_extra("smart_open", address)
    try:
        return cast("IO[bytes]", smart_open.open(address, "rb", compression="disable"))
    except Exception as error:  # each store has errors of its own
        reason = one_line(str(error)) or type(error).__name__
        raise EgparseError(f"{address}: cannot be read: {reason}") from error
