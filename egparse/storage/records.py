"""Plain data of this run as bytes, for temporary files."""

from __future__ import annotations

from typing import Any

import msgpack


def pack(record: Any) -> bytes:
    """The bytes of strings, numbers, None, and tuples of them. Any string is one, also where a file
    was read in an encoding that it does not fit.
    """
    return msgpack.packb(record, unicode_errors="surrogatepass")  # type: ignore[no-any-return]


def unpack(packed: bytes | memoryview) -> Any:
    """What ``pack`` was given."""
    return msgpack.unpackb(packed, use_list=False, unicode_errors="surrogatepass")
