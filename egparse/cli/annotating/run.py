"""Annotation of many inputs: passages of all of them in pieces, each written to its own document.

With workers the inputs are cut here and read by those who annotate them. In one process they are
read here, so that what a pipe holds is annotated and written before it is waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from egparse.cli.annotating.inputs import Input, InputFile, size_of
from egparse.cli.annotating.outputs import Document, Documents, Request, expected_format
from egparse.cli.annotating.pieces import Packer, Passage, Piece, Place, passages
from egparse.cli.annotating.progress import Progress
from egparse.cli.annotating.resuming import Resumption, Saved
from egparse.cli.annotating.work import Amount, Annotated, Annotation
from egparse.cli.options import PLAIN, InputFormat
from egparse.errors import EgparseError, EmptyCorpusError
from egparse.io.blocks import SPANS_KEY
from egparse.io.corpus import read_corpus
from egparse.io.output_formats import FORMATS
from egparse.io.word_tables import FORMATS as TABLES
from egparse.pipeline.annotate import BATCH_WORDS
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.reading import TEXT, TextReader, read_plain

if TYPE_CHECKING:
    from egparse.cli.workers import MapPieces


class Run:
    """What is annotated, how, and where it goes; ``say_empty`` is called with the name of an input
    without words. With a ``resumption`` it goes on where that says, and records in it what is
    finished.
    """

    def __init__(
        self,
        model: Model,
        request: Request,
        documents: Documents,
        progress: Progress,
        say_empty: Callable[[str], None],
        resumption: Resumption | None = None,
    ) -> None:
        self._model, self._request = model, request
        self._documents, self._progress, self._say_empty = documents, progress, say_empty
        self._resumption = resumption
        found = Saved() if resumption is None else resumption.begin
        self._begin = Place(*found.place)
        self._next_id = found.next_id
        self._current: Document | None = None
        if found.format is not None:
            self._current = self._document(self._begin.document, found.format)
        self._packer = Packer(self._begin, resumption is not None)
        # pieces that have been given and not taken back, each with the bytes read by then
        self._given: deque[tuple[Piece, int]] = deque()
        self._taken = sum(size_of(file.path) or 0 for file in request.files[: self._begin.document])
        if resumption is not None:
            progress.go_on(Amount(*found.amount), self._taken)
        self._source: Input | None = None
        self._format: InputFormat | None = None
        self._held: list[Sentence] = []
        self._reader: TextReader | None = None
        self._work = Annotation(
            model,
            request.model,
            reading_of(model, respect_input=request.respect_input),
            request.of_annotation,
            request.output_format,
            request.k_best,
        )

    def annotate(self, map_all: MapPieces | None = None) -> None:
        """Annotate all inputs as ``map_all`` does it, by processes or on a cluster, which load the
        model from its file; None: in this process, which writes what it has before it waits.

        Raises:
            EgparseError: an input is faulty, or its format has no place for probabilities; what was
                written before is complete.
        """
        cut = self._read if map_all is None else self._cut
        files = self._request.files[self._begin.document :]
        pieces = self._given_out(self._packer.pieces(map(cut, files)))
        results = map(self._work, pieces) if map_all is None else map_all(self._work, pieces)
        try:
            for annotated in results:
                self._take(annotated)
        finally:
            if (close := getattr(results, "close", None)) is not None:
                close()
        self._documents.flush()

    def load_kernels(self) -> None:
        """Annotate a word, so that time that is measured afterwards is that of annotation."""
        list(self._model.annotate([Sentence(("a",))], **self._request.of_annotation))

    def _given_out(self, pieces: Iterable[Piece]) -> Iterator[list[Passage]]:
        for piece in pieces:
            self._note(piece)
            yield piece.passages

    def _note(self, piece: Piece) -> None:
        taken = self._source.taken if self._source is not None else 0
        self._given.append((piece, self._taken + taken))

    def _take(self, annotated: Annotated) -> None:
        """Write what the first piece that was given has become.

        Raises:
            EgparseError: it has a fault; what is before it has been written.
        """
        piece, taken = self._given.popleft()
        self._progress.document = piece.parts[-1].document
        left = iter(annotated.written)
        for part in piece.parts:
            for _ in range(part.passages):
                written = next(left, None)
                if written is None:
                    raise EgparseError(annotated.fault or "")
                self._current = self._current or self._document(part.document, written.format)
                self._documents.write(self._current, written.data(self._next_id))
                if written.is_plain:
                    self._next_id += written.amount.sentences
                self._progress.add(written.amount, taken)
            if part.is_last:
                if self._current is None:  # an input without words
                    file = self._request.files[part.document]
                    self._say_empty(file.label)
                    format = expected_format(file.relative, self._request)
                    self._current = self._document(part.document, format)
                self._documents.end(self._current)
                self._current = None
        if self._resumption is not None and piece.place is not None:
            begun = None if self._current is None else self._current.format
            saved = Saved(piece.place, begun, self._next_id, self._progress.amount)
            self._resumption.save(saved, self._documents.save())

    def _document(self, number: int, format: str) -> Document:
        return Document(number, self._request.files[number], format)

    def _cut(self, file: InputFile) -> Iterator[Passage]:
        """The passages of an input for workers, who read them."""
        with Input(file.path, self._request.encoding) as source:
            self._begin_input(source)
            for passage in passages(self._model, source.stream, source.name, self._format):
                self._progress.begin()
                yield self._with_place(passage)
            self._end_input(source)

    def _read(self, file: InputFile) -> Iterator[Passage]:
        """The passages of an input, which is read here."""
        with Input(file.path, self._request.encoding, before_waiting=self._hand_over) as source:
            self._begin_input(source)
            words = 0
            try:
                for sentence in self._sentences(source):
                    self._progress.begin()
                    self._held.append(sentence)
                    words += len(sentence)
                    if words >= BATCH_WORDS:
                        words = 0
                        yield self._passage(source)
            except EmptyCorpusError:
                pass  # said when the document ends
            if self._held:
                yield self._passage(source)
            self._end_input(source)

    def _begin_input(self, source: Input) -> None:
        """Raise EgparseError for ``respect_input`` with a format that has no cells to fill."""
        self._source = self._progress.source = source
        self._held, self._reader = [], None
        self._format = format = source.format(self._request.format)
        corpora = (None, InputFormat.CONLLU, InputFormat.CONLLX)
        if self._request.respect_input and format not in corpora:
            expected = "expected CoNLL-U or CoNLL-X, which have cells to fill, for --respect-input"
            raise EgparseError(f"{source.place}: {expected}, got {format}")

    def _end_input(self, source: Input) -> None:
        self._source = None
        self._taken += source.taken
        self._progress.close()

    def _sentences(self, source: Input) -> Iterator[Sentence]:
        """The sentences of an input as they are read."""
        if self._format == TEXT:
            self._reader = self._model.text_reader()
            return self._reader.sentences(source.stream, name=source.name)
        if self._format in PLAIN:
            plain = self._model.plain_text
            return read_plain(plain, source.stream, self._format, name=source.name)
        self._progress.begin()
        return read_corpus(source.stream, self._format, name=source.name, **self._work.reading)

    def _passage(self, source: Input) -> Passage:
        """The sentences that are held."""
        held, self._held = self._held, []
        format: str | None = self._format
        if format is None:
            format = held[0].source.format if held[0].source is not None else "conllu"
        return self._with_place(Passage(source.name, format, held))

    def _hand_over(self) -> None:
        """Write all that has come, even what a reader keeps back: somebody may wait for it."""
        if self._reader is not None:
            self._held += self._reader.release()
        if self._held and self._source is not None:
            self._packer.add(self._passage(self._source))
        piece = self._packer.taken()
        if piece.parts:
            self._note(piece)
            self._take(self._work(piece.passages))
        self._documents.flush()

    def _with_place(self, passage: Passage) -> Passage:
        """Raise EgparseError unless the output has a place for the probabilities of --marginals:
        the column MISC, JSON, a table, or a drawing; and for the graphs of --enhanced.
        """
        read = "conllu" if passage.format in PLAIN else passage.format
        format = self._request.output_format or read
        with_place = ("conllu", "json", "jsonl", "tree", *TABLES)
        if self._request.marginals and format not in with_place:
            wanted = "CoNLL-U or text for --marginals, which writes to the column MISC"
            if format in FORMATS:
                wanted = (
                    "CoNLL-U, JSON, tables or trees for --marginals, which have a place for them"
                )
            raise EgparseError(f"{passage.name}: expected {wanted}, got {format}")
        if self._request.enhanced and format not in ("conllu", "json", "jsonl", *TABLES):
            raise EgparseError(
                f"{passage.name}: expected CoNLL-U, JSON or tables for --enhanced, which have a "
                f"place for enhanced dependencies, got {format}"
            )
        return passage


def reading_of(model: Model, *, respect_input: bool) -> dict[str, Any]:
    """Options of ``read_corpus``: the annotation of the input is either kept or not read at all, so
    that its faults do not matter.
    """
    if not respect_input:
        return {"trees": False, "spans_key": None}
    parser = model.components.get("parser")
    return {
        "trees": parser is not None,
        "multiple_roots": parser is not None and not parser.single_root,
        "spans_key": SPANS_KEY if "spans" in model.components else None,
        "partial_spans": True,
    }
