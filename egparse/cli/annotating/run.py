"""Annotation of many inputs: sentences of all of them in batches, each to its own document."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from egparse.cli import outputs
from egparse.cli.annotating.arguments import InputFile, expected_format
from egparse.cli.annotating.documents import Document, Documents
from egparse.cli.annotating.progress import Progress
from egparse.cli.annotating.source import Input
from egparse.cli.options import InputFormat
from egparse.errors import EgparseError, EmptyCorpusError
from egparse.pipeline.annotate import BATCH_WORDS
from egparse.pipeline.model import Model
from egparse.pipeline.text_reader import Reader
from egparse.readers.conllu import SPANS_KEY
from egparse.readers.corpus import read_corpus
from egparse.sentences import Sentence

if TYPE_CHECKING:
    from egparse.cli.jobs import Written


class Options(NamedTuple):
    """How inputs are read and annotated."""

    format: InputFormat = InputFormat.AUTO
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


def annotate_with_jobs(run: Run, model_path: Path, jobs: int) -> None:
    """Annotate one input after the other by several processes (0: one for each processor), which
    load the model from ``model_path``; errors as in ``annotate``.
    """
    texts = _Texts(run)
    for file in run.files:
        with Input(file.path, run.options.encoding) as source:
            run.progress.open(source)
            document = None
            try:
                with closing(_written(source, run, texts, model_path, jobs)) as results:
                    for written in results:
                        document = document or Document(file, written.format)
                        run.documents.write(document, written.data)
                        run.progress.add(written.amount)
            except EmptyCorpusError:
                pass  # said below
            run.progress.close()
        run.documents.end(document or _empty(file, run))
    run.documents.flush()


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
            amount = outputs.write(own, text, one.document.format)
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
        self._reader: Reader | None = None

    def sentences(self, source: Input) -> Iterator[Sentence]:
        """The sentences of a text; time counts from the first one, when the tokeniser is loaded."""
        self._reader = self._run.model.text_reader(self._next)
        for sentence in self._reader.sentences(source.stream, name=source.name):
            self._run.progress.begin()
            self._next += 1
            yield sentence

    def release(self) -> list[Sentence]:
        """Sentences that the reader keeps back until it knows what follows."""
        released = [] if self._reader is None else self._reader.release()
        self._next += len(released)
        return released


def _sentences(source: Input, run: Run, texts: _Texts) -> Iterator[Sentence]:
    """The sentences of an input as they are read."""
    format = source.format(run.options.format)
    reading = _reading(source, format, run)
    if format is InputFormat.TEXT:
        return texts.sentences(source)
    run.progress.begin()
    return read_corpus(source.stream, format, name=source.name, **reading)


def _written(
    source: Input, run: Run, texts: _Texts, model_path: Path, jobs: int
) -> Generator[Written, None, None]:
    from egparse.cli.jobs import annotate_corpus, annotate_text
    from egparse.cli.workers import all_cores

    format = source.format(run.options.format)
    reading = _reading(source, format, run)
    jobs = jobs or all_cores()
    annotation = run.options.of_annotation
    if format is InputFormat.TEXT:
        sentences = texts.sentences(source)
        return annotate_text(run.model, model_path, sentences, jobs, **annotation)
    run.progress.begin()
    return annotate_corpus(
        run.model,
        model_path,
        source.stream,
        source.name,
        format,
        jobs,
        reading=reading,
        **annotation,
    )


def _reading(source: Input, format: InputFormat | None, run: Run) -> dict[str, Any]:
    """Options of ``read_corpus``: the annotation of the input is either kept or not read at all, so
    that its faults do not matter.

    Raises:
        EgparseError: ``respect_input`` with a format that has no cells to fill.
    """
    if not run.options.respect_input:
        return {"trees": False, "spans_key": None}
    if format not in (None, InputFormat.CONLLU, InputFormat.CONLLX):
        expected = "expected CoNLL-U or CoNLL-X, which have cells to fill, for --respect-input"
        raise EgparseError(f"{source.place}: {expected}, got {format}")
    parser = run.model.parser
    return {
        "trees": parser is not None,
        "multiple_roots": parser is not None and not parser.single_root,
        "spans_key": SPANS_KEY if "spans" in run.model.taggers else None,
        "partial_spans": True,
    }


def _document(file: InputFile, first: Sentence, options: Options) -> Document:
    format = first.source.format if first.source is not None else "conllu"
    if options.marginals:
        outputs.require_misc(format, file.label)
    return Document(file, format)


def _empty(file: InputFile, run: Run) -> Document:
    run.say_empty(file.label)
    return Document(file, expected_format(file.relative, run.options.format))
