"""Where annotated documents go: all to one output, or each to a file of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

from egparse.cli import outputs
from egparse.cli.annotating.arguments import (
    InputFile,
    check_outputs,
    expected_format,
    output_path,
)
from egparse.cli.annotating.sinks import Sink, StreamSink
from egparse.cli.files.arguments import STANDARD, check_output
from egparse.cli.files.kinds import Kind
from egparse.errors import EgparseError, one_line
from egparse.io.output_formats import FORMATS, Frame

_DOCUMENT = b"# newdoc"
_JSON_MARK = b'"newdoc": '
"""Not part of any string in JSON, where quotes are escaped."""


@dataclass
class Document:
    """What one input becomes, in an output format."""

    file: InputFile
    format: str


class Documents(Protocol):
    """Takes the output of documents, one after the other."""

    def write(self, document: Document, data: bytes) -> None:
        """Write whole sentences of a document, in UTF-8; the document before it has ended."""

    def end(self, document: Document) -> None:
        """Complete a document, perhaps an empty one."""

    def flush(self) -> None:
        """Hand over what has been written, where somebody may wait for it."""


class Joined(AbstractContextManager["Joined"]):
    """All documents in one stream. If there are several files, a comment ``# newdoc id`` names each
    in CoNLL-U, by its name below the folder that was given, if these differ, unless it has such a
    comment itself; so does the key ``newdoc`` in JSON. ``output`` is the format if it was asked
    for.
    """

    def __init__(self, sink: Sink, files: Sequence[InputFile], output: str | None = None) -> None:
        self._sink = sink
        self._frame = Frame(output or "conllu")
        self._marks = len(files) > 1
        self._short = len({file.relative for file in files}) == len(files)
        self._last: Document | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._sink.write(self._frame.end())

    def write(self, document: Document, data: bytes) -> None:
        """See ``Documents``.

        Raises:
            EgparseError: another format than that of the document before.
        """
        new = document is not self._last
        if new:
            if self._last is not None and self._last.format != document.format:
                raise EgparseError(
                    f"{document.file.label}: expected {self._last.format} as in "
                    f"{self._last.file.label}, to which it is joined, got {document.format}; "
                    "--output-dir writes a file for each input"
                )
            self._last = document
            if self._marks:
                data = _marked(data, document.format, self._name(document.file))
        self._sink.write(self._frame.add(data, new_document=new))

    def _name(self, file: InputFile) -> str:
        short = self._short or file.path == STANDARD
        return one_line(str(file.relative if short else file.path))

    def end(self, document: Document) -> None:
        """Do nothing: the stream goes on."""

    def flush(self) -> None:
        """See ``Documents``."""
        self._sink.flush()


class Separate(AbstractContextManager["Separate"]):
    """Each document in a file below ``folder``, which is replaced when the document is complete.

    Raises:
        EgparseError: two of the files would have one output, or an output would replace one of
            ``inputs``.
    """

    def __init__(
        self,
        folder: Path,
        files: Sequence[InputFile],
        *,
        asked: str,
        output: str | None = None,
        inputs: Sequence[Path],
        force: bool,
    ) -> None:
        self._folder = folder
        self._inputs = inputs
        self._force = force
        self._open = ExitStack()
        self._sink: Sink | None = None
        self._frame = Frame("conllu")
        self._outputs = {
            file: output_path(
                folder, file.relative, output or expected_format(file.relative, asked)
            )
            for file in files
        }
        check_outputs(self._outputs, inputs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def write(self, document: Document, data: bytes) -> None:
        """See ``Documents``."""
        self._opened(document).write(self._frame.add(data))

    def end(self, document: Document) -> None:
        """Rename the file: it is complete."""
        self._opened(document).write(self._frame.end())
        self._complete()
        self._sink = None

    def _complete(self) -> None:
        self._open.close()

    def flush(self) -> None:
        """Do nothing: nobody sees a file before it is complete."""

    def _opened(self, document: Document) -> Sink:
        if self._sink is None:
            path = output_path(self._folder, document.file.relative, document.format)
            if path != self._outputs[document.file]:  # the name did not tell the format
                self._outputs[document.file] = path
                check_outputs(self._outputs, self._inputs)
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path, kind_of_format(document.format), {}, force=self._force)
            self._frame = Frame(document.format)
            self._sink = self._new_sink(path)
        return self._sink

    def _new_sink(self, path: Path) -> Sink:
        return StreamSink(self._open.enter_context(outputs.opened(path)))


def kind_of_format(format: str) -> Kind:
    """The kind of file that an output format makes."""
    if format in ("json", "jsonl"):
        return Kind.JSON
    return Kind.TEXT if format in FORMATS else Kind.CORPUS


def _marked(data: bytes, format: str, name: str) -> bytes:
    """The beginning of a document with its name, unless it has one or its format has none. A mark
    without a name, as the first sentence of a text has it, gets the name.
    """
    if format == "conllu":
        mark = f"# newdoc id = {name}\n".encode()
        if data.startswith(_DOCUMENT + b"\n"):
            return mark + data[len(_DOCUMENT) + 1 :]
        return data if _is_marked(data) else mark + data
    if format in ("json", "jsonl"):
        value = json.dumps(name, ensure_ascii=False).encode()
        first, end, rest = data.partition(b"\n")
        if _JSON_MARK in first:
            named = first.replace(_JSON_MARK + b'""', _JSON_MARK + value, 1)
            return named + end + rest
        return b"{" + _JSON_MARK + value + b", " + data[1:]
    return data


def _is_marked(data: bytes) -> bool:
    """Whether the first sentence has a comment that begins a document."""
    for line in io.BytesIO(data):
        if line[:1] != b"#":
            return False
        if line.startswith(_DOCUMENT):
            return True
    return False
