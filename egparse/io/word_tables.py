"""Sentences as tables of Apache Arrow, one row a word, in batches; and files of them.

===============  ===================================================================================
``document``     the number of the document, from 0; where the input does not say that documents
                 begin, all of it is one
``document_id``  its name, if it has one
``sentence``     the number of the sentence, from 0, over all documents
``sentence_id``  its ID, if the input has one
``id``           the number of the word in its sentence, from 1, as ``head`` has it; 0 is the root
``form`` ...     the columns of ``Sentence.columns``; ``misc`` without ``TokenRange``, which is
                 ``start`` and ``end``
===============  ===================================================================================

A value that is not there is null. Columns with the labels of a model are dictionary-encoded: each
begins with the labels in the order of the model, so that all batches have the same dictionaries. A
label of the input that the model does not know is put after them.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from egparse.errors import import_with_extra
from egparse.sentences import MISSING, MISSING_HEAD, ROW_KEYS, TOKEN_RANGE, Sentence

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("arrow", "parquet")

BATCH_ROWS = 65_536
"""Rows of a batch in a file, and of a row group of Parquet; until then they are in memory."""

_SENTENCES = 500

_TYPES = {
    "document": "int32",
    "document_id": "string",
    "sentence": "int64",
    "sentence_id": "string",
    "id": "int32",
    "form": "string",
    "token": "string",
    "start": "int64",
    "end": "int64",
    "lemma": "string",
    "upos": "label",
    "xpos": "label",
    "feats": "label",
    "spans": "label",
    "head": "int32",
    "deprel": "label",
    "deps": "string",
    "misc": "string",
}
_LABELS = tuple(name for name, kind in _TYPES.items() if kind == "label")
_OUTSIDE = "O"
_USER = "tables of words"


class Place(NamedTuple):
    """The document of a sentence and its name, and the number of the sentence."""

    document: int
    document_id: str | None
    sentence: int


def places(
    sentences: Iterable[Sentence], *, begun: bool = False
) -> Iterator[tuple[Place, Sentence]]:
    """Sentences with their places, by the marks where documents begin. If a document has ``begun``
    before them, sentences before the first mark are in document -1.
    """
    document, name = -1, None
    for number, sentence in enumerate(sentences):
        if sentence.opens_document or not (number or begun):
            document, name = document + 1, sentence.document_id
        yield Place(document, name, number), sentence


class Batches:
    """Makes record batches of words, with the labels that a model has for each layer (a field of
    ``Sentence``), and columns for the probabilities of some layers.

    Raises:
        ConfigError: pyarrow is not installed.
    """

    def __init__(
        self, labels: Mapping[str, Iterable[str]], probabilities: Collection[str] = ()
    ) -> None:
        self._arrow = pyarrow()
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in _LABELS}
        for layer, strings in labels.items():
            known = _iob2(strings) if layer == "spans" else strings
            self._number(ROW_KEYS[layer], known)
        probable = ("p_" + key for layer, key in ROW_KEYS.items() if layer in probabilities)
        self.schema = self._schema(probable)

    def batch(self, sentences: Iterable[tuple[Place, Sentence]]) -> pa.RecordBatch:
        """One batch of the words of some sentences."""
        columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        for place, sentence in sentences:
            n = len(sentence)
            found = sentence.columns()
            found |= {name: (value,) * n for name, value in place._asdict().items()}
            found |= {"sentence_id": (sentence.sentence_id,) * n, "id": range(1, n + 1)}
            for name, column in columns.items():
                column += found.get(name) or (None,) * n
        pairs = zip(columns["form"], columns["lemma"], strict=True)
        columns["lemma"] = [
            None if lemma == MISSING and form != MISSING else lemma for form, lemma in pairs
        ]
        columns["head"] = [None if head == MISSING_HEAD else head for head in columns["head"]]
        columns["misc"] = [misc and _without_range(misc) for misc in columns["misc"]]
        arrays = [self._array(name, values) for name, values in columns.items()]
        return self._arrow.record_batch(arrays, schema=self.schema)

    def stream(self, sentences: Iterator[tuple[Place, Sentence]]) -> pa.RecordBatchReader:
        """Batches of some hundred sentences, each made when it is read."""
        made = (self.batch(some) for some in iter(lambda: [*islice(sentences, _SENTENCES)], []))
        return self._arrow.RecordBatchReader.from_batches(self.schema, made)

    def _schema(self, probable: Iterable[str]) -> pa.Schema:
        arrow = self._arrow
        label = arrow.dictionary(arrow.int32(), arrow.string())
        kinds = _TYPES | dict.fromkeys(probable, "float32")
        return arrow.schema(
            {name: label if kind == "label" else kind for name, kind in kinds.items()}
        )

    def _number(self, name: str, labels: Iterable[str | None]) -> dict[str, int]:
        """The numbers of the labels of a column, with new ones for those that have none."""
        numbers = self._numbers[name]
        for label in labels:
            if label is not None and label != MISSING:
                numbers.setdefault(label, len(numbers))
        return numbers

    def _array(self, name: str, values: list[Any]) -> pa.Array:
        arrow = self._arrow
        if name not in _LABELS:
            return arrow.array(values, self.schema.field(name).type)
        numbers = self._number(name, values)
        indices = arrow.array(map(numbers.get, values), arrow.int32())
        return arrow.DictionaryArray.from_arrays(indices, arrow.array(numbers, arrow.string()))


def message(batch: pa.RecordBatch) -> bytes:
    """A batch in Arrow's format between processes, as ``TableFile`` takes it."""
    sink = pyarrow().BufferOutputStream()
    with pyarrow().ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    made: bytes = sink.getvalue().to_pybytes()
    return made


class TableFile:
    """Joins batches (``message``) of sentences that follow each other to one file: ``add`` and
    ``end`` return what there is to write. Documents and sentences are numbered through. An Arrow
    file is compressed by LZ4, a Parquet file by Zstandard.
    """

    def __init__(self, format: str) -> None:
        self._format = format
        self._sink = _Sink()
        self._writer: Any = None
        self._held: list[pa.RecordBatch] = []
        self._last = Place(-1, None, -1)
        self._labels: dict[str, dict[str, int]] = {}

    def add(self, data: bytes, *, new_document: bool = False, name: str | None = None) -> bytes:
        """What is to be written once a batch has been added. ``new_document``: it is the first of
        another input, whose documents without a name have this ``name``.
        """
        if not data:
            return data
        batch = pyarrow().ipc.open_stream(data).read_next_batch()
        self._held.append(self._placed(self._relabelled(batch), new_document, name))
        if sum(map(len, self._held)) >= BATCH_ROWS:
            self._write()
        return self._sink.taken()

    def end(self) -> bytes:
        """What completes the file."""
        self._write()
        self._writer.close()
        return self._sink.taken()

    def _placed(
        self, batch: pa.RecordBatch, new_document: bool, name: str | None
    ) -> pa.RecordBatch:
        """A batch with its documents and sentences numbered through."""
        compute = import_with_extra("pyarrow.compute", _USER)
        last, document, names = self._last, batch["document"], batch["document_id"]
        first = document[0].as_py()
        new_document |= last.sentence < 0
        without_mark = compute.less(document, 0)
        if new_document:
            unnamed = compute.and_(compute.equal(document, first), compute.is_null(names))
            names = compute.if_else(unnamed, name, names)
        else:
            names = compute.if_else(without_mark, last.document_id, names)
        opened = last.document + 1 + (new_document and first < 0)
        changed = {
            "document": compute.add(document, opened),
            "document_id": names,
            "sentence": compute.add(batch["sentence"], last.sentence + 1),
        }
        for column, values in changed.items():
            place = batch.schema.get_field_index(column)
            batch = batch.set_column(place, batch.schema[place], values.cast(_TYPES[column]))
        self._last = Place(*(batch[column][-1].as_py() for column in Place._fields))
        return batch

    def _relabelled(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch whose dictionaries begin like those of the batches before it."""
        arrow = pyarrow()
        for name in _LABELS:
            column, known = batch[name], self._labels.setdefault(name, {})
            labels = column.dictionary.to_pylist()
            if labels == [*known]:
                continue
            numbers = [known.setdefault(label, len(known)) for label in labels]
            taken = arrow.array(numbers, arrow.int32()).take(column.indices)
            changed = arrow.DictionaryArray.from_arrays(taken, arrow.array(known, arrow.string()))
            batch = batch.set_column(batch.schema.get_field_index(name), name, changed)
        return batch

    def _write(self) -> None:
        """Write the batches that are held, as one."""
        arrow = pyarrow()
        if self._writer is None:
            schema = self._held[0].schema if self._held else Batches({}).schema
            if self._format == "parquet":
                parquet = import_with_extra("pyarrow.parquet", _USER)
                self._writer = parquet.ParquetWriter(self._sink, schema, compression="zstd")
            else:
                options = arrow.ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=True)
                self._writer = arrow.ipc.new_file(self._sink, schema, options=options)
        if self._held:
            self._writer.write_table(arrow.Table.from_batches(self._held).combine_chunks())
            self._held = []


class _Sink(io.RawIOBase):
    """Keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._pieces.append(bytes(data))
        self._size += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        """What has been written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def pyarrow() -> Any:
    """The package.

    Raises:
        ConfigError: it is not installed.
    """
    return import_with_extra("pyarrow", _USER)


def _iob2(labels: Iterable[str]) -> Iterator[str]:
    """The tags of IOB2 for the kinds of spans in some tags."""
    yield _OUTSIDE
    for kind in dict.fromkeys(label[2:] for label in labels if label != _OUTSIDE):
        yield from (f"B-{kind}", f"I-{kind}")


def _without_range(misc: str) -> str | None:
    """A cell MISC without ``TokenRange``; None if nothing is left."""
    entries = (entry for entry in misc.split("|") if not entry.startswith(TOKEN_RANGE))
    left = "|".join(entries)
    return None if left in ("", MISSING) else left
