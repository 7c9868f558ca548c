"""The transfer of one file over HTTP, which resumes an interrupted one.

The bytes received so far are in a partial file beside the target, named after the address and the
version of the file on the server (ETag or date), so that two versions never mix. It stays when the
transfer is interrupted, whatever ends it. A server that does not support ``Range`` sends the whole
file again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn

import requests

from egparse.errors import EgparseError, system_reason

Listener = Callable[[str, int, int | None], None]
"""Called with the name of a file, its number of bytes so far, and its size (None if unknown)."""

CHUNK = 1 << 16
"""Bytes read at a time; the last chunk before an interruption is lost."""

ATTEMPTS = 3
"""Attempts at a file when the connection breaks in the middle of it."""

TIMEOUT = (10.0, 60.0)
"""Seconds to wait for a connection, and for more bytes."""


class DownloadError(EgparseError):
    """A file cannot be downloaded, or is not the expected one."""


class _ConnectionLost(Exception):
    """The connection ended before the file did."""


class Transfer:
    """Downloads one file; ``check`` gets the path of the complete file before it has its final
    name, and may raise.
    """

    def __init__(self, target: Path, listener: Listener, check: Callable[[Path], None]) -> None:
        self._target = target
        self._listener = listener
        self._check = check

    def fetch(self, url: str) -> None:
        """Put the file at ``url`` into the target. Raises DownloadError and OSError."""
        part = self._whole(url)
        try:
            self._check(part)
        except EgparseError:
            part.unlink()
            raise
        os.replace(part, self._target)

    def _whole(self, url: str) -> Path:
        attempt = 1
        while True:
            try:
                return self._receive(url)
            except _ConnectionLost as error:
                if attempt == ATTEMPTS:
                    raise DownloadError(f"{url}: {error}") from None
                attempt += 1

    def _receive(self, url: str) -> Path:
        """One request. Raises _ConnectionLost where another one may succeed."""
        begun = next(iter(self._partial_files()), None)
        size = begun.stat().st_size if begun else 0
        headers = {"Accept-Encoding": "identity"}  # a range of compressed bytes would be of no use
        if size:
            headers["Range"] = f"bytes={size}-"
        try:
            response = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
        except requests.RequestException as error:
            _unreachable(url, error)
        with response:
            part = self._partial_file(url, response)
            partial = response.status_code == HTTPStatus.PARTIAL_CONTENT
            continues = partial and part == begun and _continues(size, response)
            refused = response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            if size and (refused or (partial and not continues)):
                self._forget()  # the partial file may be of another version
                raise _ConnectionLost(f"expected bytes from {size:,} on, got others")
            if response.status_code != HTTPStatus.OK and not continues:
                raise DownloadError(
                    f"{url}: expected a file, got {response.status_code} {response.reason}"
                )
            if not continues:
                self._forget()
                size = 0
            self._write(response, part, size)
        return part

    def _write(self, response: requests.Response, part: Path, size: int) -> None:
        length = response.headers.get("Content-Length", "")
        total = size + int(length) if length.isdecimal() and not _encoded(response) else None
        try:
            with open(part, "ab" if size else "wb") as stream:
                for data in response.iter_content(CHUNK):
                    stream.write(data)
                    size += len(data)
                    self._listener(self._target.name, size, total)
            complete = total is None or size == total
        except requests.RequestException:
            complete = False
        if not complete:
            expected = f"{total:,} bytes" if total is not None else "the whole file"
            hint = "run the command again to resume"
            if not _version(response) or _encoded(response):
                self._forget()
                hint = "run the command again"
            raise _ConnectionLost(f"expected {expected}, got {size:,} bytes; {hint}")

    def _partial_file(self, url: str, response: requests.Response) -> Path:
        version = hashlib.sha256(f"{url}\n{_version(response)}".encode()).hexdigest()[:16]
        return self._target.with_name(f".{self._target.name}.{version}.part")

    def _partial_files(self) -> list[Path]:
        start, end = f".{self._target.name}.", ".part"
        return [
            path
            for path in sorted(self._target.parent.iterdir())
            if path.name.startswith(start) and path.name.endswith(end)
        ]

    def _forget(self) -> None:
        for path in self._partial_files():
            with suppress(OSError):
                path.unlink()


def _version(response: requests.Response) -> str:
    """The version of a file on the server, empty if the server does not state it."""
    headers: Any = response.headers
    return str(headers.get("ETag") or headers.get("Last-Modified") or "")


def _encoded(response: requests.Response) -> bool:
    return response.headers.get("Content-Encoding", "identity") != "identity"


def _continues(size: int, response: requests.Response) -> bool:
    """Whether a partial response of the same version certainly starts after ``size`` bytes."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {size}-")
    return bool(size and begins and _version(response) and not _encoded(response))


def _unreachable(url: str, error: requests.RequestException) -> NoReturn:
    """Raise DownloadError with the system's reason, which is the cause of causes of ``error``."""
    reason = system_reason(error) or type(error).__name__
    if isinstance(error, requests.Timeout):
        reason = "no answer in time"
    raise DownloadError(
        f"{url}: cannot be reached: {reason}; downloads need a connection to the network"
    ) from error
