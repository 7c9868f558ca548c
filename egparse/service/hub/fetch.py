"""Downloads of models and treebanks: verified, atomic, locked against other processes, and resumed
after an interruption.

The bytes received so far are in a partial file beside the target, named after the address and the
version of the file on the server (ETag or date), so that two versions never mix. It stays when the
transfer is interrupted, whatever ends it. A server that does not support ``Range`` sends the whole
file again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from egparse.errors import EgparseError, system_reason
from egparse.service.hub.catalogue import (
    MODEL,
    CatalogueEntry,
    RemoteFile,
    index_address,
    index_copy,
    is_remote,
    mirrored,
)
from egparse.service.hub.model_paths import home
from egparse.storage.files import open_regular, read_regular, unfinished, write_atomically

if TYPE_CHECKING:
    from requests import Response

Listener = Callable[[str, int, int | None], None]
"""Called with the name of a file, its number of bytes so far, and its size (None if unknown)."""

CHECKSUM_SUFFIX = ".sha256"

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


def folder_of(entry: CatalogueEntry) -> Path:
    """The default folder of a download; each release of a treebank has a separate one."""
    if entry.kind == MODEL:
        return home() / "models"
    return home() / "treebanks" / entry.release / entry.name


def fetch(
    entry: CatalogueEntry, folder: Path | None = None, listener: Listener = lambda *_: None
) -> list[Path]:
    """Download the files of an entry into ``folder``, by default ``folder_of(entry)``.

    Files that are there are only checked. Where the catalogue has no SHA-256, that of the first
    download is kept beside the file, in the format of ``sha256sum``, and checked from then on.

    Raises:
        DownloadError: no connection, no such file, a wrong checksum, an unrelated file of that
            name, or a folder that cannot be written to.
    """
    place = folder or folder_of(entry)
    return [fetch_file(file, place, listener) for file in entry.files]


def is_downloaded(entry: CatalogueEntry) -> bool:
    """Whether all files of an entry are in their folder; their contents are not checked."""
    return all((folder_of(entry) / file.name).is_file() for file in entry.files)


def fetch_file(file: RemoteFile, folder: Path, listener: Listener = lambda *_: None) -> Path:
    """Download a file into ``folder``; see ``fetch``."""
    target = folder / file.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(target):
            if target.exists():
                _require_unaltered(target, file)
            else:
                _retrieve(file, target, listener)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DownloadError(f"{target}: cannot be written: {reason}") from error
    return target


def _retrieve(file: RemoteFile, target: Path, listener: Listener) -> None:
    if not is_remote(file.address):
        _copy(file, target)
        return
    url = mirrored(file.address)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            part = _receive(url, target, listener)
            break
        except _ConnectionLost as error:
            if attempt == ATTEMPTS:
                raise DownloadError(f"{url}: {error}") from None
    try:
        _check(part, url, file, target)
    except EgparseError:
        part.unlink()
        raise
    os.replace(part, target)


def _copy(file: RemoteFile, target: Path) -> None:
    """Copy a file of a folder on this machine, whose SHA-256 is known."""
    try:
        data = read_regular(Path(file.address))
    except OSError as error:
        raise DownloadError(f"{file.address}: cannot be read: {error.strerror}") from error
    if (found := hashlib.sha256(data).hexdigest()) != file.sha256:
        raise DownloadError(f"{file.address}: expected SHA-256 {file.sha256}, got {found}")
    write_atomically(target, data)


def fetch_index(listener: Listener = lambda *_: None) -> None:
    """Keep a copy of the index of models as it is now on its server, if it is on one.

    Raises:
        DownloadError: no connection, or no such file.
    """
    address, target = index_address(), index_copy()
    if is_remote(address):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target):
            os.replace(_receive(mirrored(address), target, listener), target)


def _receive(url: str, target: Path, listener: Listener) -> Path:
    """The partial file after one request. Raises _ConnectionLost where another one may succeed."""
    import requests

    begun = next(iter(_partial_files(target)), None)
    size = begun.stat().st_size if begun else 0
    headers = {"Accept-Encoding": "identity"}  # a range of compressed bytes would be of no use
    if size:
        headers["Range"] = f"bytes={size}-"
    try:
        response = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    except requests.RequestException as error:
        reason = system_reason(error) or type(error).__name__
        if isinstance(error, requests.Timeout):
            reason = "no answer in time"
        raise DownloadError(
            f"{url}: cannot be reached: {reason}; downloads need a connection to the network"
        ) from error
    with response:
        name = hashlib.sha256(f"{url}\n{_version(response)}".encode()).hexdigest()[:16]
        part = target.with_name(f".{target.name}.{name}.part")
        partial = response.status_code == HTTPStatus.PARTIAL_CONTENT
        continues = partial and part == begun and _continues(size, response)
        refused = response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        if size and (refused or (partial and not continues)):
            _forget(target)  # the partial file may be of another version
            raise _ConnectionLost(f"expected bytes from {size:,} on, got others")
        if response.status_code != HTTPStatus.OK and not continues:
            raise DownloadError(
                f"{url}: expected a file, got {response.status_code} {response.reason}"
            )
        if not continues:
            _forget(target)
            size = 0
        length = response.headers.get("Content-Length", "")
        total = size + int(length) if length.isdecimal() and not _encoded(response) else None
        try:
            with open(part, "ab" if size else "wb") as stream:
                for data in response.iter_content(CHUNK):
                    stream.write(data)
                    size += len(data)
                    listener(target.name, size, total)
            complete = total is None or size == total
        except requests.RequestException:
            complete = False
        if not complete:
            expected = f"{total:,} bytes" if total is not None else "the whole file"
            hint = "run the command again to resume"
            if not _version(response) or _encoded(response):
                _forget(target)
                hint = "run the command again"
            raise _ConnectionLost(f"expected {expected}, got {size:,} bytes; {hint}")
    return part


def _partial_files(target: Path) -> list[Path]:
    start, end = f".{target.name}.", ".part"
    return [
        path
        for path in sorted(target.parent.iterdir())
        if path.name.startswith(start) and path.name.endswith(end)
    ]


def _forget(target: Path) -> None:
    for path in _partial_files(target):
        with suppress(OSError):
            path.unlink()


def _version(response: Response) -> str:
    """The version of a file on the server, empty if the server does not state it."""
    return str(response.headers.get("ETag") or response.headers.get("Last-Modified") or "")


def _encoded(response: Response) -> bool:
    return response.headers.get("Content-Encoding", "identity") != "identity"


def _continues(size: int, response: Response) -> bool:
    """Whether a partial response of the same version certainly starts after ``size`` bytes."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {size}-")
    return bool(size and begins and _version(response) and not _encoded(response))


def _check(part: Path, url: str, file: RemoteFile, target: Path) -> None:
    """Refuse a file with another SHA-256 than the known one, as models always have; where none is
    known, what is no treebank, such as the log-in page of a network, and keep that of the file.
    """
    found = _sha256(part)
    if file.sha256 is not None:
        if found != file.sha256:
            raise DownloadError(
                f"{url}: expected SHA-256 {file.sha256}, got other bytes; nothing was kept"
            )
        return
    if not _looks_like_conllu(part):
        raise DownloadError(
            f"{url}: expected whole sentences in CoNLL-U, got something else; nothing was kept"
        )
    # Before the file gets its name: a file without a checksum counts as not downloaded by us.
    write_atomically(_checksum_file(target), f"{found}  {target.name}\n".encode())


def _looks_like_conllu(path: Path) -> bool:
    """Whether a file begins like CoNLL-U and ends with a blank line, as a truncated file seldom
    does.
    """
    with open(path, "rb") as stream:
        start = stream.read(2)
        stream.seek(max(0, path.stat().st_size - 2))
        return start in (b"# ", b"1\t", b"1-") and stream.read() == b"\n\n"


def _require_unaltered(target: Path, file: RemoteFile) -> None:
    expected = file.sha256 or _kept_checksum(target)
    if expected is None:
        raise DownloadError(
            f"{target}: expected a downloaded file or none, got a file without a checksum; move it "
            "away, or choose another --output"
        )
    if (got := _sha256(target)) != expected:
        raise DownloadError(
            f"{target}: expected SHA-256 {expected}, got {got}: altered since its download; move "
            "it away to download it again"
        )


def _kept_checksum(target: Path) -> str | None:
    try:
        return read_regular(_checksum_file(target)).decode().split()[0]
    except (OSError, UnicodeError, IndexError):
        return None


def _checksum_file(target: Path) -> Path:
    return target.with_name(target.name + CHECKSUM_SUFFIX)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Wait until no other process downloads the same file; a process that dies frees its lock."""
    from filelock import FileLock

    path = target.with_name(f".{target.name}.lock")
    with FileLock(path), unfinished(path):
        try:
            yield
        finally:
            # While it is held: a process that waits for it notices, and makes a new lock file.
            with suppress(OSError):
                os.unlink(path)


def _sha256(path: Path) -> str:
    with open(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
