"""Downloads of models and treebanks: verified, atomic, and locked against other processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock

from egparse.service.hub.catalogue import MODEL, CatalogueEntry, RemoteFile, mirrored
from egparse.service.hub.model_paths import home
from egparse.service.hub.transfer import DownloadError, Listener, Transfer
from egparse.storage.atomic import write_atomically
from egparse.storage.regular_files import open_regular, read_regular
from egparse.storage.temporary import unfinished

CHECKSUM_SUFFIX = ".sha256"


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
    return [_fetch_file(file, place, listener) for file in entry.files]


def is_downloaded(entry: CatalogueEntry) -> bool:
    """Whether all files of an entry are in their folder; their contents are not checked."""
    return all((folder_of(entry) / file.name).is_file() for file in entry.files)


def _fetch_file(file: RemoteFile, folder: Path, listener: Listener) -> Path:
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
    url = mirrored(file.address)
    check = partial(_check, url=url, file=file, target=target)
    Transfer(target, listener, check).fetch(url)


def _check(part: Path, *, url: str, file: RemoteFile, target: Path) -> None:
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
    _write_checksum(target, found)


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


def _write_checksum(target: Path, checksum: str) -> None:
    write_atomically(_checksum_file(target), f"{checksum}  {target.name}\n".encode())


def _checksum_file(target: Path) -> Path:
    return target.with_name(target.name + CHECKSUM_SUFFIX)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Wait until no other process downloads the same file; a process that dies frees its lock."""
    path = target.with_name(f".{target.name}.lock")
    with FileLock(path), unfinished(path):
        try:
            yield
        finally:
            # While it is held: a process that waits for it notices, and makes a new lock file.
            with suppress(OSError):
                os.unlink(path)


def _sha256(path: Path) -> str:
    """In hexadecimal."""
    with open(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
