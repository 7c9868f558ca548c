"""The outputs of ``parse``, checked and opened before anything is read: all documents in one, or
each in a file of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from egparse.cli.annotating.inputs import ENDINGS, InputFile
from egparse.cli.annotating.resuming import CompressedSink, Partial, Resumption, Sink, sync_files
from egparse.cli.files import STANDARD, Kind, check_output, identity, kind_of, opened
from egparse.cli.options import PLAIN, InputFormat, OutputFormat
from egparse.errors import EgparseError, one_line
from egparse.io.columns import LAYOUTS
from egparse.io.compression import compressor_of, without_compression
from egparse.io.detection import FORMATS as CORPORA
from egparse.io.detection import format_of_name
from egparse.io.output_formats import FORMATS, Frame
from egparse.io.word_tables import FORMATS as TABLES
from egparse.io.word_tables import TableFile, pyarrow


@dataclass(frozen=True)
class Request:
    """What the arguments say: inputs, outputs, and how inputs are read and annotated."""

    model: Path
    files: Sequence[InputFile]
    output: Path | None = None
    output_dir: Path | None = None
    format: InputFormat = InputFormat.AUTO
    output_format: OutputFormat | None = None
    force: bool = False
    encoding: str = "utf-8"
    gold_tags: bool = False
    respect_input: bool = False
    marginals: bool = False
    exceptions: str | None = None
    treebank: str | None = None
    valid_labels: bool = False
    k_best: int | None = None
    enhanced: bool = False

    @property
    def of_annotation(self) -> dict[str, Any]:
        """Options of ``Model.annotate``."""
        return {
            "gold_tags": self.gold_tags,
            "respect_input": self.respect_input,
            "probabilities": self.marginals,
            "enhanced": self.enhanced,
        }

    @property
    def options(self) -> dict[str, Any]:
        """All that the output depends on beside model and inputs, by the names of options."""
        return {
            "--format": str(self.format),
            "--output-format": self.output_format and str(self.output_format),
            "--encoding": self.encoding,
            "--gold-tags": self.gold_tags,
            "--respect-input": self.respect_input,
            "--marginals": self.marginals,
            "--exceptions": self.exceptions,
            "--treebank": self.treebank,
            **({"--valid-labels": True} if self.valid_labels else {}),
            **({"--k-best": self.k_best} if self.k_best else {}),
            **({"--enhanced": True} if self.enhanced else {}),
        }


class Document(NamedTuple):
    """What an input, by its number, becomes in an output format."""

    number: int
    file: InputFile
    format: str


class _TextSink:
    """A stream that takes text alone, such as standard output in a notebook."""

    def __init__(self, stream: TextIO) -> None:
        self.flush = stream.flush
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data.decode())


def _sink(stream: TextIO) -> Sink:
    return getattr(stream, "buffer", None) or _TextSink(stream)


def check_table(request: Request, *, resume: bool) -> None:
    """Raise EgparseError if the output is a table, and cannot be one."""
    if request.output_format not in TABLES:
        return
    if resume:
        raise EgparseError(
            f"--resume: expected an output that can be continued, got {request.output_format}"
        )
    if request.output is None and request.output_dir is None and sys.stdout.isatty():
        raise EgparseError(
            f"--output-format {request.output_format}: expected --output or a pipe, got a terminal"
        )
    pyarrow()


class Joined:
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
        self._sink, self._output = sink, output or "conllu"
        self._frame: Frame | TableFile | None = None
        self._marks = len(files) > 1
        self._short = len({file.relative for file in files}) == len(files)
        self._last: Document | None = None
        if state and "last" in state:
            number, format = state["last"]
            self._last = Document(number, files[number], format)
            self._frame = Frame(format, begun=state["begun"])

    def write(self, document: Document, data: bytes) -> None:
        """Write whole sentences of a document, in UTF-8; the document before it has ended.

        Raises:
            EgparseError: another format than that of the document before.
        """
        new, name = document != self._last, None
        if self._frame is None:
            self._frame = frame_of(document.format)
        if new:
            if self._last is not None and self._last.format != document.format:
                raise EgparseError(
                    f"{document.file.label}: expected {self._last.format} as in "
                    f"{self._last.file.label}, to which it is joined, got {document.format}; "
                    "--output-dir writes a file for each input"
                )
            self._last = document
            if self._marks:
                file = document.file
                short = self._short or file.path == STANDARD
                name = one_line(str(file.relative if short else file.path))
        self._sink.write(self._frame.add(data, new_document=new, name=name))

    def end(self, document: Document) -> None:
        """Complete a document, perhaps an empty one."""

    def flush(self) -> None:
        """Hand over what has been written, where somebody may wait for it."""
        self._sink.flush()

    def finish(self) -> None:
        """Write what completes the output."""
        self._sink.write((self._frame or frame_of(self._output)).end())

    def save(self) -> dict[str, Any]:
        """Have all that was written on the disk; returns what is needed to go on from there."""
        assert isinstance(self._sink, Partial)
        begun = isinstance(self._frame, Frame) and self._frame.begun
        state: dict[str, Any] = {"length": self._sink.sync(), "begun": begun}
        if self._last is not None:
            state["last"] = [self._last.number, self._last.format]
        return state


class Separate:
    """Each document in a file below a folder, which is replaced when the document is complete; the
    methods are those of ``Joined``. The file that is being written is in the ``stack``. With a
    ``state``, the first one goes on where ``save`` of an interrupted run was.

    Raises:
        EgparseError: two of the files would have one output, or an output would replace an input.
    """

    def __init__(
        self, request: Request, stack: ExitStack, state: Mapping[str, Any] | None = None
    ) -> None:
        assert request.output_dir is not None
        self._folder, self._force = request.output_dir, request.force
        self._inputs = [request.model, *(file.path for file in request.files)]
        self._stack, self._state = stack, state
        self._sink: Sink | None = None
        self._finished: list[Path] = []
        self._frame = frame_of("conllu")
        self._outputs = {
            file: output_path(self._folder, file.relative, expected_format(file.relative, request))
            for file in request.files
        }
        self._check_outputs()

    def write(self, document: Document, data: bytes) -> None:
        self._opened(document).write(self._frame.add(data))

    def end(self, document: Document) -> None:
        sink = self._opened(document)
        sink.write(self._frame.end())
        if isinstance(sink, Partial):
            self._finished.append(sink.complete())
        self._stack.close()
        self._sink = None

    def flush(self) -> None:
        """Do nothing: nobody sees a file before it is complete."""

    def finish(self) -> None:
        sync_files(self._finished)
        self._finished = []

    def save(self) -> dict[str, Any]:
        self.finish()
        if not isinstance(self._sink, Partial) or not isinstance(self._frame, Frame):
            return {}
        return {"length": self._sink.sync(), "begun": self._frame.begun}

    def _opened(self, document: Document) -> Sink:
        if self._sink is None:
            path = output_path(self._folder, document.file.relative, document.format)
            if path != self._outputs[document.file]:  # the name did not tell the format
                self._outputs[document.file] = path
                self._check_outputs()
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path, _kind_of_format(document.format), {}, force=self._force)
            self._frame = frame_of(document.format)
            if self._state is None:
                self._sink = _sink(self._stack.enter_context(opened(path)))
            else:
                state, self._state = self._state, {}
                self._frame = Frame(document.format, begun=state.get("begun", False))
                self._sink = Partial(path, None, state.get("length", 0))
                self._stack.callback(self._sink.close)
        return self._sink

    def _check_outputs(self) -> None:
        """Raise EgparseError if an output would replace another one or an input."""
        owners: dict[str, InputFile] = {}
        inputs = {identity(path) for path in self._inputs} - {None}
        for file, path in self._outputs.items():
            other = owners.setdefault(os.path.realpath(path), file)
            if other is not file:
                raise EgparseError(
                    f"{path}: expected one input for each output, got {other.label} and "
                    f"{file.label}"
                )
            if identity(path) in inputs:
                raise EgparseError(
                    f"{path}: expected another file for the output, got an input, which it would "
                    "destroy"
                )


Documents = Joined | Separate


def frame_of(format: str) -> Frame | TableFile:
    """What joins the pieces of an output."""
    return TableFile(format) if format in TABLES else Frame(format)


@contextmanager
def opened_documents(request: Request, found: Resumption | None) -> Iterator[Documents]:
    """The outputs, checked and opened; they are finished if the block ends without an error.

    Raises:
        EgparseError: an output would destroy something, or cannot be written.
    """
    state, target = None if found is None else found.state, request.output
    with ExitStack() as stack:
        documents: Documents
        if request.output_dir is not None:
            documents = Separate(request, stack, state)
            yield documents
            documents.finish()
            return
        check_joined(request)
        compressor = None if target is None else compressor_of(target.name)
        sink: Sink
        if found is not None and target is not None:
            sink = stack.enter_context(found.output(target, compressor))
        else:
            sink = _sink(stack.enter_context(opened(target)))
            if compressor is not None:
                sink = CompressedSink(sink, compressor)
        documents = Joined(sink, request.files, request.output_format, state)
        yield documents
        documents.finish()
        if isinstance(sink, CompressedSink):
            sink.finish()


def expected_format(relative: Path, request: Request) -> str:
    """The format of the output as far as it is known before an input is read: what was asked for,
    or what the name tells, or CoNLL-U.
    """
    if request.output_format is not None:
        return request.output_format
    if request.format in CORPORA:
        return request.format
    return "conllu" if request.format in PLAIN else format_of_name(relative.name) or "conllu"


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


def check_joined(request: Request) -> None:
    """Raise EgparseError if one output for all inputs would destroy something."""
    files, output = request.files, request.output
    # One corpus may be replaced by its annotation, which keeps all that it holds.
    alone = (
        output is not None
        and len(files) == 1
        and compressor_of(output.name) is None
        and request.output_format in (None, OutputFormat.CONLLU)
        and kind_of(files[0].path, as_it_is=True) is Kind.CORPUS
    )
    others = [] if alone else files
    inputs = {f"the input {file.path}": file.path for file in others}
    kind = _kind_of_format(request.output_format or "conllu")
    check_output(
        output, kind, inputs | {"the model": request.model}, force=request.force, regular=False
    )


def _kind_of_format(format: str) -> Kind:
    if format in ("json", "jsonl"):
        return Kind.JSON
    if format in TABLES:
        return Kind.TABLE
    return Kind.TEXT if format in FORMATS else Kind.CORPUS
