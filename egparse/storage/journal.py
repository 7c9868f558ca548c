"""A journal of finished work beside an output: what an interrupted run need not do again.

A journal is a file of lines, each the checksum (CRC-32) of a record and the record itself in JSON.
The first record says which work it is (the model, the options, the inputs); each further one that
something has been finished. ``Journal.add`` returns when its record is on the disk, so what the
record says must be there before. Only the last line can be torn by a crash: it is cut off. What
records say, and in which order they come, is the business of who writes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from egparse.errors import EgparseError
from egparse.storage.files import lock, open_regular

VERSION = 1
_VERSION_KEY = "egparse journal"


class Journal:
    """An open journal; ``is_new`` if there was none, or none with a whole first record."""

    def __init__(self, path: Path, file: IO[bytes], end: int, is_new: bool) -> None:
        self.path = path
        self.is_new = is_new
        self._file = file
        self._end = end

    def records(self) -> Iterator[dict[str, Any]]:
        """The records that the journal had when it was opened, without the first one."""
        with open(self.path, "rb") as file:
            file.readline()
            while file.tell() < self._end:
                record = _record_of(file.readline())
                assert record is not None
                yield record

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a record, durably. Raises OSError."""
        self._file.write(_line_of(record))
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Remove the file: the work is complete."""
        with suppress(FileNotFoundError):
            self.path.unlink()


@contextmanager
def open_journal(path: Path, work: Mapping[str, Any]) -> Iterator[Journal]:
    """The journal of some work, which is begun if there is none; it stays where it is at the end of
    the block, unless ``remove`` is called. ``work`` are JSON values by names that messages use.

    Raises:
        EgparseError: the journal is of other work, is damaged, or another process has it open.
        OSError: it cannot be read or written.
    """
    first = json.loads(json.dumps({_VERSION_KEY: VERSION, **work}))
    file = _locked(path)
    try:
        end = _whole_lines(path, file)
        file.seek(0)
        found = _record_of(file.readline()) if end else None
        file.seek(end)
        file.truncate()
        journal = Journal(path, file, end, found is None)
        if found is None:
            journal.add(first)
            sync_folder(path.parent)
        else:
            _check(path, found, first)
        yield journal
    finally:
        file.close()


def checksum_of(path: Path) -> str:
    """The SHA-256 of a file, such as a model, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _locked(path: Path) -> IO[bytes]:
    while True:
        file = os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b")
        if not lock(file.fileno()):
            file.close()
            raise EgparseError(f"{path}: another process is working on what this journal is of")
        if os.fstat(file.fileno()).st_nlink:  # else a run that has just ended removed it
            return file
        file.close()


def _whole_lines(path: Path, file: IO[bytes]) -> int:
    """The length of the whole records; 0 if not even the first one is. Raises EgparseError:
    something follows a record that is not whole.
    """
    end = 0
    for number, line in enumerate(file, 1):
        if _record_of(line) is None:
            if file.read(1):
                raise EgparseError(
                    f"{path}:{number}: expected a journal of egparse with whole records, got "
                    "another line; remove the file to begin anew"
                )
            if number == 1 and line.strip(b"\0") and line.endswith(b"\n"):
                raise EgparseError(f"{path}: expected a journal of egparse, got another file")
            return end
        end += len(line)
    return end


def _check(path: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for key in (*expected, *found):
        if found.get(key) != expected.get(key):
            raise EgparseError(
                f"{path}: the interrupted run had another {key}: expected {_shown(found.get(key))},"
                f" got {_shown(expected.get(key))}; remove this file to begin anew"
            )


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _line_of(record: Mapping[str, Any]) -> bytes:
    data = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"%08x %b\n" % (zlib.crc32(data), data)


def _record_of(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if it is not whole."""
    checksum, _, data = line.partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(data[:-1]):
        return None
    record: dict[str, Any] = json.loads(data)
    return record
