"""Annotation of many inputs: sentences of all of them in batches, each to its own document."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from egparse.cli import outputs
from egparse.cli.annotating.arguments import InputFile, expected_format
from egparse.cli.annotating.bulk.writing import write
from egparse.cli.annotating.documents import Document, Documents
from egparse.cli.annotating.progress import Progress
from egparse.cli.annotating.resumable import Resumable, Resumption, Saved
from egparse.cli.annotating.source import Input, size_of
from egparse.cli.options import PLAIN, InputFormat, OutputFormat
from egparse.errors import EgparseError, EmptyCorpusError
from egparse.io.conllu import SPANS_KEY
from egparse.io.corpus import read_corpus
from egparse.pipeline.annotate import BATCH_WORDS
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.plain_formats import TEXT, read_plain
from egparse.text.reading import TextReader

if TYPE_CHECKING:
    from egparse.cli.annotating.bulk.annotation import Annotated, Annotation
    from egparse.cli.annotating.bulk.passages import Passage
    from egparse.cli.annotating.bulk.pieces import Piece, Place


class Options(NamedTuple):
    """How inputs are read and annotated."""

    format: InputFormat = InputFormat.AUTO
    output: OutputFormat | None = None
    encoding: str = "utf-8"
    gold_tags: bool = False
    respect_input: bool = False
    marginals: bool = False

    @property
    def of_annotation(self) -> dict[str, Any]:
        """Options of ``Model.annotate``."""
        return {
            "gold_tags": self.gold_tags,
            "respect_input": self.respect_input,
            "probabilities": self.marginals,
        }


class Run(NamedTuple):
    """What is annotated, how, and where it goes; ``say_empty`` is called with the name of an input
    without words.
    """

    model: Model
    files: Sequence[InputFile]
    options: Options
    documents: Documents
    progress: Progress
    say_empty: Callable[[str], None]


MapPieces: TypeAlias = (
    "Callable[[Annotation, Iterable[list[Passage]]], Generator[Annotated, None, None]]"
)
"""Gives what has become of each piece, in order."""


def annotate(run: Run) -> None:
    """Annotate all inputs in this process, and write each sentence as soon as its batch is full or
    an input lets wait.

    Raises:
        EgparseError: an input is faulty, or its format has no place for probabilities; the inputs
            before it are complete.
    """
    queue, texts = _Queue(run), _Texts(run)
    documents: dict[InputFile, Document] = {}

    def add(file: InputFile, sentences: Iterable[Sentence]) -> None:
        for sentence in sentences:
            if file not in documents:
                documents[file] = _document(file, sentence, run.options)
            queue.add(documents[file], sentence)

    for file in run.files:

        def before_waiting(file: InputFile = file) -> None:
            add(file, texts.release())
            queue.hand_over()

        with Input(file.path, run.options.encoding, before_waiting=before_waiting) as source:
            run.progress.open(source)
            try:
                add(file, _sentences(source, run, texts))
            except EmptyCorpusError:
                pass  # said below
            except EgparseError:
                queue.finish()
                raise
            run.progress.close()
        queue.end(documents.pop(file) if file in documents else _empty(file, run))
    queue.hand_over()


def annotate_in_pieces(
    run: Run, model_path: Path, map_all: MapPieces, resumption: Resumption | None = None
) -> None:
    """Annotate all inputs piece by piece, as ``map_all`` has it: by processes, or on a cluster,
    which load the model from ``model_path``; errors as in ``annotate``. With a ``resumption`` go on
    where it says, and record in it what is finished.
    """
    from egparse.cli.annotating.bulk.annotation import Annotation

    work = Annotation(
        run.model,
        model_path,
        _options_of_reading(run),
        run.options.of_annotation,
        run.options.output,
    )
    begin = Saved() if resumption is None else resumption.begin
    run.progress.documents = begin.place.document
    inputs = _Inputs(run, begin.place, resumption is not None)
    output = _Output(run, begin, None if resumption is None else resumption.current)
    with closing(map_all(work, inputs.pieces())) as results:
        for annotated in results:
            piece, taken = inputs.given.popleft()
            run.progress.reach(piece.parts[-1].document, taken)
            output.write(piece, annotated)
            if resumption is not None and piece.place is not None:
                resumption.save(output.saved(piece.place), cast("Resumable", run.documents))
    run.documents.flush()


class _Inputs:
    """Cuts inputs into pieces of work. ``given`` are those that have been given and not taken back,
    each with the bytes of files that were read by then.
    """

    def __init__(self, run: Run, begin: Place, in_shards: bool) -> None:
        self._run = run
        self._begin = begin
        self._in_shards = in_shards
        self.given: deque[tuple[Piece, int]] = deque()
        earlier = run.files[: begin.document]
        self.taken = sum(size_of(file.path) or 0 for file in earlier)
        self._source: Input | None = None

    def pieces(self) -> Iterator[list[Passage]]:
        from egparse.cli.annotating.bulk.pieces import pieces

        documents = (self._passages(file) for file in self._run.files[self._begin.document :])
        for piece in pieces(documents, self._begin, in_shards=self._in_shards):
            taken = self.taken + (self._source.taken if self._source is not None else 0)
            self.given.append((piece, taken))
            yield piece.passages

    def _passages(self, file: InputFile) -> Iterator[Passage]:
        from egparse.cli.annotating.bulk.passages import passages

        run = self._run
        with Input(file.path, run.options.encoding) as source:
            self._source = source
            format = source.format(run.options.format)
            _check_reading(source, format, run)
            waited, checked = 0.0, False
            for passage in passages(run.model, source.stream, source.name, format):
                waited = waited if checked else source.waited
                run.progress.begin()
                if run.options.marginals and not checked:
                    output = run.options.output
                    outputs.require_misc(
                        output or ("conllu" if format in PLAIN else passage.format), source.name
                    )
                checked = True
                yield passage
            self._source = None
            self.taken += source.taken
            run.progress.wait(source.waited - waited)


class _Output:
    """Writes pieces, in order, to the documents that they are of."""

    def __init__(self, run: Run, begin: Saved, current: Document | None) -> None:
        self._run = run
        self._next_id = begin.next_id
        self._current = current

    def write(self, piece: Piece, annotated: Annotated) -> None:
        """Write what a piece has become.

        Raises:
            EgparseError: it has a fault; what is before it has been written.
        """
        run, left = self._run, iter(annotated.written)
        for part in piece.parts:
            file = run.files[part.document]
            for _ in range(part.passages):
                written = next(left, None)
                if written is None:
                    raise EgparseError(annotated.fault or "")
                self._current = self._current or Document(file, written.format)
                run.documents.write(self._current, written.data(self._next_id))
                if written.is_plain:
                    self._next_id += written.amount.sentences
                run.progress.add(written.amount)
            if part.is_last:
                run.documents.end(self._current or _empty(file, run))
                self._current = None

    def saved(self, place: Place) -> Saved:
        """How far the run is."""
        format = None if self._current is None else self._current.format
        return Saved(place, format, self._next_id, self._run.progress.amount)


def load_kernels(model: Model, options: Options) -> None:
    """Annotate a word, so that time that is measured afterwards is that of annotation."""
    list(model.annotate([Sentence(("a",))], **options.of_annotation))


@dataclass
class _Waiting:
    """Sentences of one document that wait for annotation."""

    document: Document
    sentences: list[Sentence] = field(default_factory=list)
    is_last: bool = False


class _Queue:
    """Sentences that wait until a batch is full, of one document after the other."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: list[_Waiting] = []
        self._words = 0

    def add(self, document: Document, sentence: Sentence) -> None:
        if not self._waiting or self._waiting[-1].document is not document:
            self._waiting.append(_Waiting(document))
        self._waiting[-1].sentences.append(sentence)
        self._words += len(sentence)
        if self._words >= BATCH_WORDS:
            self._annotate()

    def end(self, document: Document) -> None:
        """No more sentences of this document come."""
        if not self._waiting or self._waiting[-1].document is not document:
            self._waiting.append(_Waiting(document))
        self._waiting[-1].is_last = True

    def hand_over(self) -> None:
        """Write all that has come, for a reader who may wait for it."""
        self._annotate()
        self._run.documents.flush()

    def finish(self) -> None:
        """Write the documents that are complete; the last one, which is not, is left."""
        self._waiting = [one for one in self._waiting if one.is_last]
        self._annotate()

    def _annotate(self) -> None:
        waiting, self._waiting, self._words = self._waiting, [], 0
        try:
            annotated = self._annotated(waiting)
        except EgparseError:
            if len(waiting) < 2:
                raise
            for one in waiting:  # those before the faulty one are complete
                self._write([one], self._annotated([one]))
            raise
        self._write(waiting, annotated)

    def _annotated(self, waiting: Sequence[_Waiting]) -> list[Sentence]:
        sentences = chain.from_iterable(one.sentences for one in waiting)
        return list(self._run.model.annotate(sentences, **self._run.options.of_annotation))

    def _write(self, waiting: Sequence[_Waiting], annotated: Sequence[Sentence]) -> None:
        run, left = self._run, iter(annotated)
        for one in waiting:
            text = StringIO()
            own = islice(left, len(one.sentences))
            amount = write(own, text, one.document.format)
            if one.sentences:
                run.documents.write(one.document, text.getvalue().encode("utf-8"))
            if one.is_last:
                run.documents.end(one.document)
            run.progress.add(amount)


class _Texts:
    """Reads plain texts, whose sentences are numbered from the first text to the last."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._next = 1
        self._reader: TextReader | None = None

    def sentences(self, source: Input, format: InputFormat) -> Iterator[Sentence]:
        """The sentences of a text; time counts from the first one, when the tokeniser is loaded."""
        for sentence in self._read(source, format):
            self._run.progress.begin()
            self._next += 1
            yield sentence

    def _read(self, source: Input, format: InputFormat) -> Iterator[Sentence]:
        model, first = self._run.model, self._next
        if format != TEXT:
            self._reader = None
            return read_plain(model, source.stream, format, name=source.name, first_id=first)
        self._reader = model.text_reader(first)
        return self._reader.sentences(source.stream, name=source.name)

    def release(self) -> list[Sentence]:
        """Sentences that the reader keeps back until it knows what follows."""
        released = [] if self._reader is None else self._reader.release()
        self._next += len(released)
        return released


def _sentences(source: Input, run: Run, texts: _Texts) -> Iterator[Sentence]:
    """The sentences of an input as they are read."""
    format = source.format(run.options.format)
    _check_reading(source, format, run)
    if format in PLAIN:
        return texts.sentences(source, format)
    run.progress.begin()
    return read_corpus(source.stream, format, name=source.name, **_options_of_reading(run))


def _check_reading(source: Input, format: InputFormat | None, run: Run) -> None:
    """Raise EgparseError for ``respect_input`` with a format that has no cells to fill."""
    corpora = (None, InputFormat.CONLLU, InputFormat.CONLLX)
    if run.options.respect_input and format not in corpora:
        expected = "expected CoNLL-U or CoNLL-X, which have cells to fill, for --respect-input"
        raise EgparseError(f"{source.place}: {expected}, got {format}")


def _options_of_reading(run: Run) -> dict[str, Any]:
    """Options of ``read_corpus``: the annotation of the input is either kept or not read at all, so
    that its faults do not matter.
    """
    if not run.options.respect_input:
        return {"trees": False, "spans_key": None}
    parser = run.model.parser
    return {
        "trees": parser is not None,
        "multiple_roots": parser is not None and not parser.single_root,
        "spans_key": SPANS_KEY if "spans" in run.model.taggers else None,
        "partial_spans": True,
    }


def _document(file: InputFile, first: Sentence, options: Options) -> Document:
    format = options.output or (first.source.format if first.source is not None else "conllu")
    if options.marginals:
        outputs.require_misc(format, file.label)
    return Document(file, format)


def _empty(file: InputFile, run: Run) -> Document:
    run.say_empty(file.label)
    asked = run.options.output or expected_format(file.relative, run.options.format)
    return Document(file, asked)
