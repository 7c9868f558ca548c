"""Outputs and the journal of a run that can be taken up again (``egparse parse --resume``).

Beside the output stands a journal (``egparse.storage.journal``). Its first record names the model,
the options and the inputs. Each further record is made at the end of a shard: where the inputs
stand, how long the output is, and sizes and times of the inputs that have been finished since the
last one. When it is written, the output is on the disk. The output itself has another name until it
is complete; with --output-dir that holds for the file that is being written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from egparse.cli.annotating.arguments import InputFile
from egparse.cli.annotating.bulk.pieces import Place
from egparse.cli.annotating.bulk.writing import Amount
from egparse.cli.annotating.documents import Document, Documents, Joined, Separate
from egparse.cli.annotating.sinks import Partial, Sink, sync_files
from egparse.cli.annotating.source import size_of
from egparse.cli.annotating.stores import address_of
from egparse.cli.files.arguments import STANDARD
from egparse.errors import EgparseError
from egparse.io.compression import compressor_of
from egparse.storage.journal import Journal, checksum_of, open_journal

JOURNAL = ".journal"
"""The ending of the name of a journal, after that of the output."""

FOLDER_JOURNAL = ".egparse" + JOURNAL
"""The name of a journal in a folder of outputs."""


class Saved(NamedTuple):
    """How far a run is: where its inputs stand, the format of the output of the current one if it
    has begun, the number of the next sentence of plain text, and how much has been written.
    """

    place: Place = Place()
    format: str | None = None
    next_id: int = 1
    amount: Amount = Amount(0, 0)


class Resumable(Documents, Protocol):
    """Outputs that can be taken up again."""

    def save(self) -> dict[str, Any]:
        """Have all that was written on the disk; returns what is needed to go on from there."""


class ResumableJoined(Joined):
    """``Joined`` in a file that goes on where an interrupted run was."""

    def __init__(
        self,
        target: Path,
        files: Sequence[InputFile],
        output: str | None,
        found: Resumption,
    ) -> None:
        state = found.state
        self._partial = Partial(target, compressor_of(target.name), state.get("length", 0))
        super().__init__(self._partial.sink, files, output)
        self._found = found
        if "last" in state:
            file = InputFile(*map(Path, state["last"]))
            self._last = found.current or Document(file, state["format"])
            self._frame.begun = state["begun"]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
            if kind is None:
                self._partial.sync()
                self._found.record_completion()
                sync_files([self._partial.complete()])
        finally:
            self._partial.close()

    def save(self) -> dict[str, Any]:
        """See ``Resumable``."""
        state: dict[str, Any] = {"length": self._partial.sync(), "begun": self._frame.begun}
        if self._last is not None:
            file = self._last.file
            state |= {
                "last": [str(file.path), str(file.relative)],
                "format": self._last.format,
            }
        return state


class ResumableSeparate(Separate):
    """``Separate``, whose current file goes on where ``state`` says."""

    def __init__(self, *arguments: Any, state: Mapping[str, Any], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._state = state
        self._partial: Partial | None = None
        self._finished: list[Path] = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._partial is not None:
            self._partial.close()
        if kind is None:
            sync_files(self._finished)

    def save(self) -> dict[str, Any]:
        """See ``Resumable``."""
        sync_files(self._finished)
        self._finished = []
        if self._partial is None:
            return {}
        return {"length": self._partial.sync(), "begun": self._frame.begun}

    def _new_sink(self, path: Path) -> Sink:
        state, self._state = self._state, {}
        self._frame.begun = state.get("begun", False)
        self._partial = Partial(path, None, state.get("length", 0))
        return self._partial

    def _complete(self) -> None:
        if self._partial is not None:
            self._finished.append(self._partial.complete())
            self._partial = None


class Resumption:
    """The journal of a run over ``files``: how far the run before was (``begin``, in the document
    ``current``), and how far this one is. ``state`` is what outputs need to go on; ``is_complete``
    if the output lacks no more than its name.

    Raises:
        EgparseError: an input that was finished has changed.
    """

    def __init__(self, journal: Journal, files: Sequence[InputFile]) -> None:
        self.journal = journal
        self.begin = Saved()
        self.state: Mapping[str, Any] = {}
        self.is_complete = False
        self._files = files
        self._recorded = 0
        for record in journal.records():
            if record.get("complete"):
                self.is_complete = True
                break
            for file, stamp in zip(files[self._recorded :], record["inputs"], strict=False):
                _check_unchanged(file, stamp)
            self.begin = Saved(
                Place(*record["place"]),
                record["format"],
                record["next_id"],
                Amount(*record["amount"]),
            )
            self.state = record["output"]
            self._recorded = self.begin.place.document
        self.current: Document | None = None
        if self.begin.format is not None:
            self.current = Document(files[self._recorded], self.begin.format)

    @property
    def taken(self) -> int:
        """The bytes of the inputs that are finished."""
        return sum(size_of(file.path) or 0 for file in self._files[: self.begin.place.document])

    def record_completion(self) -> None:
        """Record that all is done and on the disk. Raises OSError."""
        self.journal.add({"complete": True})

    def save(self, saved: Saved, documents: Resumable) -> None:
        """Record how far the run is, durably. Raises OSError."""
        state = documents.save()
        done = self._files[self._recorded : saved.place.document]
        self.journal.add(
            {
                **saved._asdict(),
                "inputs": [_stamp(file) for file in done],
                "output": state,
            }
        )
        self._recorded = saved.place.document


def journal_path(output: Path | None, folder: Path | None) -> Path:
    """Where the journal of a run stands.

    Raises:
        EgparseError: there is no file that could be taken up again.
    """
    if folder is not None:
        return folder / FOLDER_JOURNAL
    if output is None:
        raise EgparseError("--resume: expected --output or --output-dir beside it, got neither")
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file():
        raise EgparseError(f"{output}: expected a regular file for --resume, got something else")
    return target.with_name(target.name + JOURNAL)


@contextmanager
def resumption(
    path: Path, model: Path, files: Sequence[InputFile], options: Mapping[str, Any]
) -> Iterator[Resumption]:
    """The journal of a run by its model, inputs and options; it is removed when the block ends
    without an error.

    Raises:
        EgparseError: the journal is of another run, or an input has changed.
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
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_journal(path, work) as journal:
        yield Resumption(journal, files)
        journal.remove()


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
        size = f"{stamp[0]:,} bytes"
        got = (
            "one that was changed since"
            if found is None or found[0] == stamp[0]
            else (f"one of {found[0]:,} bytes")
        )
        raise EgparseError(
            f"{file.label}: expected the input of {size} of the interrupted run, got {got}"
        )
