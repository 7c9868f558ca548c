"""The outputs of ``parse``, checked and opened before anything is read: all documents in one, or
each in a file of its own.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from egparse.cli.annotating.inputs import ENDINGS, InputFile
from egparse.cli.annotating.resuming import (
    CompressedSink,
    Partial,
    Resumption,
    Sink,
    give_name,
    journal_path,
    partial_path,
    resumption,
    sync_files,
)
from egparse.cli.files import STANDARD, Kind, check_folder, check_output, identity, kind_of, opened
from egparse.cli.options import PLAIN, InputFormat, OutputFormat
from egparse.errors import EgparseError, one_line
from egparse.io.columns import LAYOUTS
from egparse.io.compression import compressor_of, without_compression
from egparse.io.detection import FORMATS as CORPORA
from egparse.io.detection import format_of_name
from egparse.io.output_formats import FORMATS, Frame

_DOCUMENT = b"# newdoc"
_JSON_MARK = b'"newdoc": '
"""Not part of any string in JSON, where quotes are escaped."""


class Asked(NamedTuple):
    """What the arguments say of inputs and outputs."""

    model: Path
    files: Sequence[InputFile]
    output: Path | None = None
    output_dir: Path | None = None
    format: InputFormat = InputFormat.AUTO
    output_format: OutputFormat | None = None
    force: bool = False


class Document(NamedTuple):
    """What an input, by its number, becomes in an output format."""

    number: int
    file: InputFile
    format: str


class StreamSink:
    """A text stream; standard output and files are written to by their bytes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._binary = getattr(stream, "buffer", None)

    def write(self, data: bytes) -> None:
        if self._binary is None:
            self._stream.write(data.decode())
        else:
            self._binary.write(data)

    def flush(self) -> None:
        self._stream.flush()


class Joined(AbstractContextManager["Joined"]):
    """All documents in one output. If there are several files, a comment ``# newdoc id`` names each
    in CoNLL-U, by its name below the folder that was given, if these differ, unless it has such a
    comment itself; so does the key ``newdoc`` in JSON. ``output`` is the format if it was asked
    for, ``state`` what ``save`` of an interrupted run returned.
    """

    def __init__(
        self,
        sink: Sink,
        files: Sequence[InputFile],
        output: str | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self._sink = sink
        self._frame = Frame(output or "conllu")
        self._marks = len(files) > 1
        self._short = len({file.relative for file in files}) == len(files)
        self._last: Document | None = None
        if state and "last" in state:
            number, format = state["last"]
            self._last = Document(number, files[number], format)
            self._frame.begun = state["begun"]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._sink.write(self._frame.end())

    def write(self, document: Document, data: bytes) -> None:
        """Write whole sentences of a document, in UTF-8; the document before it has ended.

        Raises:
            EgparseError: another format than that of the document before.
        """
        new = document != self._last
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
        """Complete a document, perhaps an empty one."""

    def flush(self) -> None:
        """Hand over what has been written, where somebody may wait for it."""
        self._sink.flush()

    def save(self) -> dict[str, Any]:
        """Have all that was written on the disk; returns what is needed to go on from there."""
        assert isinstance(self._sink, Partial)
        state: dict[str, Any] = {"length": self._sink.sync(), "begun": self._frame.begun}
        if self._last is not None:
            state["last"] = [self._last.number, self._last.format]
        return state


class Separate(AbstractContextManager["Separate"]):
    """Each document in a file below a folder, which is replaced when the document is complete. With
    a ``state``, the first one goes on where ``save`` of an interrupted run was.

    Raises:
        EgparseError: two of the files would have one output, or an output would replace an input.
    """

    def __init__(self, asked: Asked, state: Mapping[str, Any] | None = None) -> None:
        assert asked.output_dir is not None
        self._folder = asked.output_dir
        self._force = asked.force
        self._inputs = [asked.model, *(file.path for file in asked.files)]
        self._state = state
        self._open = ExitStack()
        self._sink: Sink | None = None
        self._finished: list[Path] = []
        self._frame = Frame("conllu")
        self._outputs = {
            file: output_path(
                self._folder,
                file.relative,
                asked.output_format or expected_format(file.relative, asked.format),
            )
            for file in asked.files
        }
        _check_outputs(self._outputs, self._inputs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)
        if kind is None:
            sync_files(self._finished)

    def write(self, document: Document, data: bytes) -> None:
        """See ``Joined``."""
        self._opened(document).write(self._frame.add(data))

    def end(self, document: Document) -> None:
        """See ``Joined``."""
        sink = self._opened(document)
        sink.write(self._frame.end())
        if isinstance(sink, Partial):
            self._finished.append(sink.complete())
        self._open.close()
        self._sink = None

    def flush(self) -> None:
        """Do nothing: nobody sees a file before it is complete."""

    def save(self) -> dict[str, Any]:
        """See ``Joined``."""
        sync_files(self._finished)
        self._finished = []
        if not isinstance(self._sink, Partial):
            return {}
        return {"length": self._sink.sync(), "begun": self._frame.begun}

    def _opened(self, document: Document) -> Sink:
        if self._sink is None:
            path = output_path(self._folder, document.file.relative, document.format)
            if path != self._outputs[document.file]:  # the name did not tell the format
                self._outputs[document.file] = path
                _check_outputs(self._outputs, self._inputs)
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path, _kind_of_format(document.format), {}, force=self._force)
            self._frame = Frame(document.format)
            if self._state is None:
                self._sink = StreamSink(self._open.enter_context(opened(path)))
            else:
                state, self._state = self._state, {}
                self._frame.begun = state.get("begun", False)
                self._sink = Partial(path, None, state.get("length", 0))
                self._open.callback(self._sink.close)
        return self._sink


Documents = Joined | Separate


def opened_resumption(
    stack: ExitStack, asked: Asked, options: Mapping[str, Any]
) -> Resumption | None:
    """The journal of a run with some options that change its output. None if an interrupted run was
    complete but for the name of its output, which it has now.

    Raises:
        EgparseError: no output that could be taken up again, a journal of another run, or an input
            that has changed.
    """
    journal = journal_path(asked.output, asked.output_dir)
    if asked.output_dir is not None:
        check_folder(asked.output_dir)
    else:
        _check_joined(asked)
    with ExitStack() as own:
        found = own.enter_context(resumption(journal, asked.model, asked.files, options))
        if not found.is_complete:
            stack.enter_context(own.pop_all())
            return found
        assert asked.output is not None
        target = Path(os.path.realpath(asked.output))
        if partial_path(target).exists():
            give_name(target)
            sync_files([target])
        return None


@contextmanager
def opened_documents(asked: Asked, found: Resumption | None) -> Iterator[Documents]:
    """The outputs, checked and opened.

    Raises:
        EgparseError: an output would destroy something, or cannot be written.
    """
    state = None if found is None else found.state
    with ExitStack() as stack:
        if asked.output_dir is not None:
            yield stack.enter_context(Separate(asked, state))
            return
        _check_joined(asked)
        compressor = None if asked.output is None else compressor_of(asked.output.name)
        sink: Sink
        if found is not None and asked.output is not None:
            sink = stack.enter_context(_partial(asked.output, found))
        else:
            sink = StreamSink(stack.enter_context(opened(asked.output)))
            if compressor is not None:
                sink = stack.enter_context(CompressedSink(sink, compressor))
        yield stack.enter_context(Joined(sink, asked.files, asked.output_format, state))


@contextmanager
def _partial(target: Path, found: Resumption) -> Iterator[Partial]:
    """An output that goes on where an interrupted run was, and gets its name at the end."""
    partial = Partial(target, compressor_of(target.name), found.state.get("length", 0))
    try:
        yield partial
        partial.sync()
        found.record_completion()
        sync_files([partial.complete()])
    finally:
        partial.close()


def expected_format(relative: Path, asked: str) -> str:
    """The format of the output as far as it is known before an input is read: what was asked for,
    or what the name tells, or CoNLL-U.
    """
    if asked in CORPORA:
        return asked
    return "conllu" if asked in PLAIN else format_of_name(relative.name) or "conllu"


def output_path(folder: Path, relative: Path, format: str) -> Path:
    """Where the output of an input goes: below ``folder`` as the input below its own, with the
    ending of the format. Column files have no ending of their own: they keep their name.
    """
    name = without_compression(relative.name)
    if format in LAYOUTS:
        return folder / relative.with_name(name)
    ending = next((one for one in ENDINGS if name.lower().endswith(one)), "")
    stem = name[: len(name) - len(ending)] if len(name) > len(ending) else name
    return folder / relative.with_name(f"{stem}.{'txt' if format == 'text' else format}")


def _check_outputs(paths: Mapping[InputFile, Path], inputs: Iterable[Path]) -> None:
    """Check that outputs replace neither each other nor an input.

    Raises:
        EgparseError: one of them would.
    """
    owners: dict[str, InputFile] = {}
    kept = {identity(path) for path in inputs} - {None}
    for file, path in paths.items():
        other = owners.setdefault(os.path.realpath(path), file)
        if other is not file:
            raise EgparseError(
                f"{path}: expected one input for each output, got {other.label} and {file.label}"
            )
        if identity(path) in kept:
            raise EgparseError(
                f"{path}: expected another file for the output, got an input, which it would "
                "destroy"
            )


def _check_joined(asked: Asked) -> None:
    """Raise EgparseError if one output for all inputs would destroy something."""
    files, output = asked.files, asked.output
    # One corpus may be replaced by its annotation, which keeps all that it holds.
    alone = (
        output is not None
        and len(files) == 1
        and compressor_of(output.name) is None
        and asked.output_format in (None, OutputFormat.CONLLU)
        and kind_of(files[0].path, as_it_is=True) is Kind.CORPUS
    )
    others = [] if alone else files
    inputs = {f"the input {file.path}": file.path for file in others} | {"the model": asked.model}
    kind = _kind_of_format(asked.output_format or "conllu")
    check_output(output, kind, inputs, force=asked.force, regular=False)


def _kind_of_format(format: str) -> Kind:
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
