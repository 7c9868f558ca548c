"""What an interrupted run leaves for the next one (``egparse parse --resume``): its journal, and
outputs that are not complete.

Beside the output stands a journal (``egparse.storage.journal``). Its first record names the model,
the options and the inputs. Each further record is made at the end of a shard: where the inputs
stand, how long the output is, and sizes and times of the inputs that have been finished since the
last one. When it is written, the output is on the disk. The output itself has another name until it
is complete; with --output-dir that holds for the file that is being written.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from egparse.cli.annotating.inputs import InputFile, address_of
from egparse.cli.files import STANDARD, check_folder
from egparse.errors import EgparseError
from egparse.io.compression import Compressor
from egparse.storage.files import BUFFER, NamedFile, open_regular
from egparse.storage.journal import Journal, checksum_of, open_journal, sync_folder

PARTIAL = ".partial"
"""The ending of an output that is not complete, after its name."""

JOURNAL = ".journal"
"""The ending of the name of a journal, after that of the output, or of ``.egparse`` in a folder."""

_PART = 1 << 20
"""Bytes that are compressed as one part."""


class Saved(NamedTuple):
    """How far a run is: the inputs before number ``document`` have been worked on wholly, of it so
    many ``passages``, whose content has a ``digest``; the format of its output if that has begun,
    the number of the next sentence of plain text, and how much has been written.
    """

    place: tuple[int, int, str] = (0, 0, "")
    format: str | None = None
    next_id: int = 1
    amount: tuple[int, int] = (0, 0)


class Sink(Protocol):
    """Takes bytes of UTF-8; ``flush`` hands over what has been written, as far as it can be read.
    Both raise OSError.
    """

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> object: ...


class CompressedSink:
    """Compresses in parts, which another sink gets; ``finish`` ends the last one."""

    def __init__(
        self, sink: Sink, new_part: Callable[[], Compressor], *, is_empty: bool = True
    ) -> None:
        self._sink, self._new_part = sink, new_part
        self._part, self._size = new_part(), 0
        self._is_empty = is_empty

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # parts depend on the content alone
            taken, rest = rest[: _PART - self._size], rest[_PART - self._size :]
            self._sink.write(self._part.compress(bytes(taken)))
            self._size += len(taken)
            if self._size == _PART:
                self.end_part()

    def flush(self) -> None:
        """Do nothing: what is compressed can be read when a part is complete."""

    def end_part(self) -> None:
        """Begin a new part, unless the last one is empty."""
        if self._size:
            self._sink.write(self._part.flush())
            self._part, self._size, self._is_empty = self._new_part(), 0, False

    def finish(self) -> None:
        """End the last part; there is at least one."""
        if self._size or self._is_empty:
            self._sink.write(self._part.flush())


class Partial:
    """A file under another name until it is complete; an interruption leaves it there. With
    ``new_part`` it is compressed.

    It goes on at ``length``: what a run has written after its last record is cut off.

    Raises:
        EgparseError: the file is shorter.
        OSError: it cannot be written.
    """

    def __init__(
        self, target: Path, new_part: Callable[[], Compressor] | None, length: int = 0
    ) -> None:
        self._target = Path(os.path.realpath(target))
        path = partial_path(self._target)
        self._descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT)
        found = os.fstat(self._descriptor).st_size
        if found < length:
            os.close(self._descriptor)
            raise EgparseError(
                f"{path}: expected the {length:,} bytes that the interrupted run has written, got "
                f"{found:,}"
            )
        os.ftruncate(self._descriptor, length)
        os.lseek(self._descriptor, length, os.SEEK_SET)
        self._stream = io.BufferedWriter(NamedFile(self._descriptor, os.fspath(target)), BUFFER)
        self._compressed = None
        if new_part is not None:
            self._compressed = CompressedSink(self._stream, new_part, is_empty=length == 0)

    def write(self, data: bytes) -> None:
        (self._compressed or self._stream).write(data)

    def flush(self) -> None:
        """Do nothing: nobody reads the file before it is complete."""

    def sync(self) -> int:
        """Have all that has been written on the disk; returns the length of the file."""
        if self._compressed is not None:
            self._compressed.end_part()
        self._stream.flush()
        os.fsync(self._descriptor)
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def complete(self) -> Path:
        """Give the file its name, and return that; it need not be on the disk yet."""
        if self._compressed is not None:
            self._compressed.finish()
        self.close()
        give_name(self._target)
        return self._target

    def close(self) -> None:
        """Leave the file as it is."""
        if not self._stream.closed:
            self._stream.close()
            os.close(self._descriptor)


def partial_path(target: Path) -> Path:
    """Where an output is that is not complete."""
    return target.with_name(target.name + PARTIAL)


def give_name(target: Path) -> None:
    """Give a complete output its name, which is no link. Raises OSError."""
    if target.exists():
        shutil.copymode(target, partial_path(target))
    partial_path(target).replace(target)


def sync_files(paths: Iterable[Path]) -> None:
    """Have complete files and their names on the disk. Raises OSError."""
    folders = set()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        folders.add(path.parent)
    for folder in folders:
        sync_folder(folder)


class Resumption:
    """The journal of a run over ``files``: how far the run before was (``begin``), and how far this
    one is. ``state`` is what outputs need to go on; ``is_complete`` if the output lacks no more
    than its name.

    Raises:
        EgparseError: an input that was finished has changed.
    """

    def __init__(self, journal: Journal, files: Sequence[InputFile]) -> None:
        self._journal, self._files = journal, files
        self.begin = Saved()
        self.state: Mapping[str, Any] = {}
        self.is_complete = False
        self._recorded = 0
        for record in journal.records():
            if record.get("complete"):
                self.is_complete = True
                break
            for file, stamp in zip(files[self._recorded :], record["inputs"], strict=False):
                _check_unchanged(file, stamp)
            place, amount = tuple(record["place"]), tuple(record["amount"])
            self.begin = Saved(place, record["format"], record["next_id"], amount)
            self.state = record["output"]
            self._recorded = place[0]

    def save(self, saved: Saved, state: Mapping[str, Any]) -> None:
        """Record how far the run is, durably, and the ``state`` of its outputs. Raises OSError."""
        inputs = [_stamp(file) for file in self._files[self._recorded : saved.place[0]]]
        self._journal.add({**saved._asdict(), "inputs": inputs, "output": state})
        self._recorded = saved.place[0]

    @contextmanager
    def output(self, target: Path, compressor: Callable[[], Compressor] | None) -> Iterator[Sink]:
        """One output that goes on where the interrupted run was, and gets its name at the end."""
        partial = Partial(target, compressor, self.state.get("length", 0))
        try:
            yield partial
            partial.sync()
            self._journal.add({"complete": True})
            sync_files([partial.complete()])
        finally:
            partial.close()


@contextmanager
def resumption(
    output: Path | None,
    folder: Path | None,
    model: Path,
    files: Sequence[InputFile],
    options: Mapping[str, Any],
) -> Iterator[Resumption | None]:
    """The journal of a run by its output or folder, model, inputs and options; it is removed when
    the block ends without an error. None if an interrupted run was complete but for the name of its
    output, which it has now.

    Raises:
        EgparseError: no output that could be taken up again, a journal of another run, or an input
            that has changed.
    """
    from egparse import __version__

    names = hashlib.blake2b(digest_size=16)
    for file in files:
        names.update(os.fsencode(f"{file.path}\0{file.relative}\0"))
    work = {
        "version of egparse": __version__,
        "model": checksum_of(model),
        **options,
        "number of inputs": len(files),
        "list of inputs": names.hexdigest(),
    }
    path = journal_path(output, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_journal(path, work) as journal:
        found = Resumption(journal, files)
        if found.is_complete:
            assert output is not None
            target = Path(os.path.realpath(output))
            if partial_path(target).exists():
                give_name(target)
                sync_files([target])
            yield None
        else:
            yield found
        journal.remove()


def journal_path(output: Path | None, folder: Path | None) -> Path:
    """Where the journal of a run stands.

    Raises:
        EgparseError: there is no file that could be taken up again, or the folder is none.
    """
    if folder is not None:
        check_folder(folder)
        return folder / f".egparse{JOURNAL}"
    if output is None:
        raise EgparseError("--resume: expected --output or --output-dir beside it, got neither")
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file():
        raise EgparseError(f"{output}: expected a regular file for --resume, got something else")
    return target.with_name(target.name + JOURNAL)


def _stamp(file: InputFile) -> list[int] | None:
    """Size and time of an input; None for standard input, and for what is in a store."""
    if file.path == STANDARD or address_of(file.path) is not None:
        return None
    found = os.stat(file.path)
    return [found.st_size, found.st_mtime_ns]


def _check_unchanged(file: InputFile, stamp: list[int] | None) -> None:
    if stamp is None:
        return
    try:
        found = _stamp(file)
    except OSError as error:
        raise EgparseError(f"{file.label}: cannot be read: {error.strerror}") from None
    if found != stamp:
        got = "one that was changed since"
        if found is not None and found[0] != stamp[0]:
            got = f"one of {found[0]:,} bytes"
        raise EgparseError(
            f"{file.label}: expected the input of {stamp[0]:,} bytes of the interrupted run, got "
            f"{got}"
        )
