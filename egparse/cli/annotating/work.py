"""The work on a piece of input: read some passages, annotate them together, format each.

It knows nothing of processes, machines and outputs: a piece goes in, bytes come out.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import exp, isnan
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from egparse.cli.annotating.pieces import Chunk, Passage
from egparse.errors import CorpusError, EgparseError
from egparse.io import output_formats
from egparse.io.corpus import read_corpus, write_corpus
from egparse.io.detection import FORMATS as CORPORA
from egparse.io.output_formats import OPENING_MARKS
from egparse.io.tree_format import TREE_PROBABILITY
from egparse.io.word_tables import FORMATS as TABLES
from egparse.io.word_tables import message, places
from egparse.pipeline.components import LABELLER
from egparse.pipeline.model import Model, ScoredSentence
from egparse.sentences import Sentence
from egparse.text.exceptions.table import Exceptions
from egparse.text.reading import PLAIN_FORMATS, PartsOfText

_AGAIN = "\ue000".encode()
"""After the place of a number: it is that of the sentence before, of which this is another tree."""


class Amount(NamedTuple):
    """How much has been written."""

    sentences: int = 0
    words: int = 0


class Written(NamedTuple):
    """A passage, annotated, in its output format and in UTF-8. Sentences of plain input get their
    numbers late: these stand between ``parts``, if there are several.
    """

    amount: Amount
    parts: Sequence[bytes]
    format: str
    is_plain: bool = False

    def data(self, first_id: int = 1) -> bytes:
        """The passage with sentences numbered from ``first_id`` on, if it is plain input."""
        if len(self.parts) == 1:
            return self.parts[0]
        numbered, number = [self.parts[0]], first_id - 1
        for part in self.parts[1:]:
            number += not part.startswith(_AGAIN)
            numbered += [b"%d" % number, part.removeprefix(_AGAIN)]
        return b"".join(numbered)


class Annotated(NamedTuple):
    """What has become of the passages of a piece. ``fault`` is the message of the first fault, in
    the passage after the last one that was written.
    """

    written: list[Written]
    fault: str | None = None


@dataclass(frozen=True)
class Annotation:
    """The work on pieces. ``output`` is the format to write, None for that of the input.
    ``reading`` are options of ``read_corpus``, ``options`` those of ``Model.annotate``; with
    ``k_best`` so many trees of each sentence are written instead of the best one. ``mark`` stands
    for the number of a sentence until it is known, and cannot be guessed. A pickle holds
    ``file``, the path of the model or its content, its exceptions, which may be others than those
    of the file, the treebank that it annotates like, and whether its labels are valid: a process
    without shared memory loads the model from there.
    """

    model: Model
    file: Path | bytes
    reading: Mapping[str, Any]
    options: Mapping[str, Any]
    output: str | None = None
    k_best: int | None = None
    mark: str = ""

    def __post_init__(self) -> None:
        if not self.mark:
            object.__setattr__(self, "mark", f"egparse-{token_hex(16)}")

    def __call__(self, piece: Sequence[Passage]) -> Annotated:
        """Annotate and format all passages up to the first fault."""
        read: list[Sequence[Sentence]] = []
        fault = None
        for passage in piece:
            try:
                read.append(self._read(passage))
            except EgparseError as error:
                fault = str(error)
                break
        try:
            return Annotated(self._written(piece, read), fault)
        except EgparseError as error:
            if len(read) == 1:
                return Annotated([], str(error))
        written: list[Written] = []
        for passage, sentences in zip(piece, read, strict=False):  # those before the faulty one
            try:
                written += self._written([passage], [sentences])
            except EgparseError as error:
                return Annotated(written, str(error))
        return Annotated(written, fault)

    def _read(self, passage: Passage) -> Sequence[Sentence]:
        content = passage.content
        if isinstance(content, Chunk):
            stream, name = io.BytesIO(content.data), passage.name
            try:
                return list(read_corpus(stream, passage.format, name=name, **self.reading))
            except CorpusError as error:
                line = error.line + content.first_line - 1
                raise CorpusError(
                    error.path, line, error.expected, error.got, error.sentence_id
                ) from None
        if isinstance(content, PartsOfText):
            content = list(self.model.text_reader().read(content))
        if passage.format not in PLAIN_FORMATS:
            return content
        mark = None if self.output in TABLES else self.mark  # tables number sentences themselves
        return [replace(sentence, sentence_id=mark) for sentence in content]

    def _written(
        self, piece: Iterable[Passage], read: Sequence[Sequence[Sentence]]
    ) -> list[Written]:
        annotated = self._annotated(chain.from_iterable(read))
        written = []
        for passage, sentences in zip(piece, read, strict=False):
            is_plain = passage.format in PLAIN_FORMATS
            format = self.output or ("conllu" if is_plain else passage.format)
            trees = chain.from_iterable(islice(annotated, len(sentences)))
            data = self._formatted(trees, format)
            parts = data.split(self.mark.encode()) if is_plain else [data]
            amount = Amount(len(sentences), sum(map(len, sentences)))
            written.append(Written(amount, parts, format, is_plain))
        return written

    def _annotated(self, sentences: Iterator[Sentence]) -> Iterator[Iterable[Sentence]]:
        """Of each sentence the annotation, or the most probable ones."""
        if self.k_best is None:
            return ((one,) for one in self.model.annotate(sentences, **self.options))
        gold_tags = self.options["gold_tags"]
        return map(_trees, self.model.k_best(sentences, self.k_best, gold_tags=gold_tags))

    def _formatted(self, sentences: Iterable[Sentence], format: str) -> bytes:
        """Sentences in a corpus format, or as a piece in another format."""
        if format in CORPORA:
            text = io.StringIO()
            write_corpus(sentences, text, format)
            return text.getvalue().encode()
        written = list(sentences)
        if format not in TABLES:
            return output_formats.piece(written, format).encode()
        if not written:
            return b""
        batches = self.model.word_batches(self.options["probabilities"])
        return message(batches.batch(places(written, begun=True)))

    def __reduce__(self) -> tuple[Callable[..., Annotation], tuple[Any, ...]]:
        labeller = self.model.components.get(LABELLER)
        valid = labeller is not None and labeller.rules is not None
        given = (self.file, self.model.exceptions, self.model.columns.treebank, valid)
        return _load, (*given, self.reading, self.options, self.output, self.k_best, self.mark)


def _load(
    file: Path | bytes, exceptions: Exceptions | None, treebank: str, valid: bool, *rest: Any
) -> Annotation:
    model = Model.from_bytes(file) if isinstance(file, bytes) else Model.load(file)
    model = replace(model, exceptions=exceptions).in_treebank(treebank)
    model = model.with_valid_labels() if valid else model
    return Annotation(model, file, *rest)


def _trees(ranked: Sequence[ScoredSentence]) -> Iterator[Sentence]:
    """The trees of a sentence, best first, with the probability of each in a comment. The first one
    alone begins a document or paragraph.
    """
    for rank, (sentence, log_probability) in enumerate(ranked):
        left_out = (TREE_PROBABILITY, *OPENING_MARKS) if rank else TREE_PROBABILITY
        lines = [line for line in sentence.lines_before if not line.startswith(left_out)]
        if not isnan(log_probability):
            lines.append(f"{TREE_PROBABILITY} {exp(log_probability):.4f}")
        if rank and sentence.source is None and sentence.sentence_id is not None:
            again = sentence.sentence_id + _AGAIN.decode()
            sentence = replace(sentence, sentence_id=again)
        yield sentence.with_lines_before(lines)
