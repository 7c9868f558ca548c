"""Model files put together by hand, with valid checksums, as a malicious or a later author could.

Written from the description of the layout, without the code under test.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

import msgpack

MAGIC = bytes.fromhex("896567700d0a1a0a")


def header_of(payload: bytes, **changes: Any) -> dict[str, Any]:
    """A valid header for ``payload``, with ``changes``; a key changed to ``None`` is left out."""
    header = {
        "format": "egparse model",
        "version": 2,
        "needs_egparse": "0.2.0",
        "package_version": "0.2.0",
        "payload_length": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    return {key: value for key, value in (header | changes).items() if value is not None}


def file_of(header: bytes, payload: bytes) -> bytes:
    """The bytes of a file with this msgpack header and payload."""
    return (
        MAGIC + struct.pack("<I", len(header)) + hashlib.sha256(header).digest() + header + payload
    )


def write_crafted(path: Path, payload: bytes, **changes: Any) -> Path:
    """Write a file around ``payload`` whose checksums are right, and return its path."""
    path.write_bytes(file_of(msgpack.packb(header_of(payload, **changes)), payload))
    return path


def array_of(
    dtype: str, shape: tuple[int, ...], elements: bytes, dimensions: int | None = None
) -> msgpack.ExtType:
    """An array as the format stores it; ``dimensions`` may contradict the shape."""
    count = len(shape) if dimensions is None else dimensions
    start = struct.pack("<8sQ", dtype.encode(), count) + struct.pack(f"<{len(shape)}Q", *shape)
    return msgpack.ExtType(1, start + elements)
