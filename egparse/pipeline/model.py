"""A trained model: predictors over one set of columns, from sentences to annotated sentences and to
a file and back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from egparse.classes.tables import MAX_COLUMNS, MAX_TABLES, PackedTable, class_columns_of
from egparse.config.removed import without_removed
from egparse.enhanced.rules import enhanced_dependencies, require_rules
from egparse.errors import ConfigError, EgparseError, ModelFileError
from egparse.features.fine_tags import FineTags
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.request import Values
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import MAX_TREEBANKS, Columns
from egparse.io.word_tables import Batches, Place, places
from egparse.layers import EXPANDER, LABELLED, LAYERS, SPLITTER, TOKENISER
from egparse.pipeline.annotate import BATCH_WORDS, predict, predict_trees
from egparse.pipeline.components import FIELDS, LABELLER, OPTIONAL, PARSER, Components
from egparse.pipeline.constraints import (
    BatchConstraints,
    Constraints,
    ResolvedConstraints,
    excepted,
    given_constraints,
    resolved,
)
from egparse.pipeline.conversion import (
    as_sentences,
    batches,
    each_constraints,
    given_numbers,
    kept_tags,
    label_strings,
    put_back,
    texts_in,
)
from egparse.schemes import find_tag_fault
from egparse.sentences import Sentence
from egparse.storage.arrays import compress_texts
from egparse.storage.collector import collector_paused
from egparse.storage.header import check_header
from egparse.storage.model_file import (
    bytes_with_header,
    file_parts,
    header_digest,
    read_model,
    read_model_bytes,
    write_model,
)
from egparse.storage.schema import (
    SECTION,
    Allowance,
    Integer,
    ListOf,
    Maybe,
    Misfit,
    Record,
    Stored,
    Strings,
    TableOf,
    choice,
    shown,
)
from egparse.text.exceptions.table import NONE, Exceptions, FixedValues, read_exceptions
from egparse.text.reading import PlainText, TextReader
from egparse.text.rules import RuleSplitter, RuleTokeniser
from egparse.types import Ints

if TYPE_CHECKING:
    import pyarrow as pa

    from egparse.evaluation.report import Report
    from egparse.pipeline.conversion import Sentences


PAYLOAD = Record(
    {
        "forms": Strings(distinct=False),
        "scheme": choice(("iob2", "iobes")),
        "statistics": Maybe(SECTION),
        "fine_tags": Maybe(SECTION),
        "vocabularies": TableOf(Strings(distinct=False), tuple(OBSERVABLES)),
        **FIELDS,
        "exceptions": Maybe(SECTION),
        "treebanks": Strings(most=MAX_TREEBANKS, longest=200),
        "treebank": Integer(0, MAX_TREEBANKS - 1),  # which of them it annotates like
        "classes": Record(
            {
                "tables": ListOf(SECTION, least=1, most=MAX_TABLES),
                "columns": Strings(most=MAX_COLUMNS, longest=20),
            }
        ),
    },
    absent={
        **dict.fromkeys((*OPTIONAL, "fine_tags", "classes", "exceptions")),
        "treebanks": (),
        "treebank": 0,
    },
)
"""The payload of a model file. Its sections are declared beside the classes that they become. A
model without tables of word classes has no ``classes``.
"""


class ScoredSentence(NamedTuple):
    """A sentence with one of its trees, and the log probability of that tree in nats."""

    sentence: Sentence
    log_probability: float


class _File(NamedTuple):
    """The file that a model was loaded from, and the digest of its header."""

    path: Path
    digest: bytes


@dataclass(frozen=True, repr=False)
class Model:
    """Components with the record of their training; immutable, so that threads may share it.

    ``annotate`` does not split what it is given: the components of plain text are ``plain_text``.
    ``exceptions`` go before all that is predicted. ``record`` holds how the model was trained,
    ``config_table`` the settings. ``probabilistic`` names the layers learned with a loss that fits
    probabilities (not max-margin and perceptron models).
    """

    components: Components
    language: str = "en"
    record: Mapping[str, Any] = field(default_factory=dict)
    config_table: Mapping[str, Any] = field(default_factory=dict)
    probabilistic: tuple[str, ...] = ()
    exceptions: Exceptions | None = None
    _file: _File | None = field(default=None, init=False, compare=False)

    def __repr__(self) -> str:
        words = self.record.get("words")
        trained = f", trained on {words:,} words" if isinstance(words, int) else ""
        return f"<egparse model, language {self.language}: {', '.join(self.layers)}{trained}>"

    @property
    def columns(self) -> Columns:
        """The columns of its words."""
        return self.components.columns

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that it predicts."""
        return self.components.layers

    @property
    def forms(self) -> frozenset[str]:
        """The forms of the training corpus."""
        return frozenset(self.columns.lexicon.forms)

    @overload
    def __call__(self, source: str | Sentences, **options: Any) -> list[Sentence]: ...

    @overload
    def __call__(self, source: Iterable[str], **options: Any) -> list[list[Sentence]]: ...

    def __call__(
        self, source: str | Sentences | Iterable[str], **options: Any
    ) -> list[Sentence] | list[list[Sentence]]:
        """Annotate a text, several texts, or sentences; for ``options`` see ``annotate``.

        Of a text, and of sentences, the result is a list of sentences; of several texts a list of
        such lists, one for each text. A text is split into words and sentences by the model; for
        what it has not learned there are spaCy's rules for the language.

        Raises:
            EgparseError: something else than texts or sentences; and as ``annotate``.
        """
        texts, sentences = texts_in(source)
        if texts is None:
            return list(self.annotate(sentences, **options))
        read = [[*self.text_reader().sentences(StringIO(text))] for text in texts]
        annotated = iter([*self.annotate(chain.from_iterable(read), **options)])
        found = [[*islice(annotated, len(document))] for document in read]
        return found[0] if isinstance(source, str) else found

    def table(self, source: str | Sentences | Iterable[str], **options: Any) -> pa.Table:
        """The annotation of a text, several texts, or sentences, as ``annotate`` makes it, in a
        table of Apache Arrow with one row a word; ``egparse.io.word_tables`` lists its columns.

        Each text is a document. Of sentences those begin one that are marked so.

        Raises:
            ConfigError: pyarrow is not installed.
            EgparseError: as the call of a model.
        """
        return self.record_batches(source, **options).read_all()

    def record_batches(
        self, source: str | Sentences | Iterable[str], **options: Any
    ) -> pa.RecordBatchReader:
        """The same as a stream of batches, which are made when they are read: an iterator of texts
        may be longer than the memory holds.

        Raises:
            ConfigError: pyarrow is not installed.
            EgparseError: as the call of a model, also while the stream is read.
        """
        batches = self.word_batches(options.get("probabilities", False))
        texts, sentences = texts_in(source)
        if texts is None:
            return batches.stream(places(self.annotate(sentences, **options)))
        return batches.stream(self._placed(texts, options))

    def word_batches(self, probabilities: bool | Collection[str] = False) -> Batches:
        """What makes batches with the labels of this model, and with the ``probabilities`` of
        ``annotate``.

        Raises:
            ConfigError: pyarrow is not installed.
            EgparseError: probabilities that it does not have.
        """
        names = (name for name in self.layers if LAYERS[name].kind in LABELLED)
        labels = {name: self.columns.labels[name].strings for name in names}
        return Batches(labels, self.require_probabilities(probabilities))

    def _placed(
        self, texts: Iterable[str], options: Mapping[str, Any]
    ) -> Iterator[tuple[Place, Sentence]]:
        """The annotated sentences of texts, which are documents, numbered like them."""
        numbers: deque[int] = deque()  # of sentences that are being annotated

        def read() -> Iterator[Sentence]:
            for number, text in enumerate(texts):
                for sentence in self.text_reader().sentences(StringIO(text)):
                    numbers.append(number)
                    yield replace(sentence, sentence_id=None)

        for number, sentence in enumerate(self.annotate(read(), **options)):
            yield Place(numbers.popleft(), None, number), sentence

    def text_reader(self, first_id: int = 1) -> TextReader:
        """A reader of one plain text, whose sentences have the IDs ``first_id`` and so on: by the
        tokeniser, or by spaCy's rules where the model has none.
        """
        return TextReader(self.plain_text, first_id)

    def annotate(
        self,
        sentences: Sentences,
        *,
        gold_tags: bool = False,
        constraints: Iterable[Constraints] | None = None,
        respect_input: bool = False,
        probabilities: bool | Collection[str] = False,
        enhanced: bool = False,
    ) -> Iterator[Sentence]:
        """Copies of the sentences with the model's layers filled, batch by batch, in order. For a
        ``TokenList`` of conllu there is the sentence that it is.

        Layers are predicted from the words alone; predicted tags are features of later layers. With
        ``gold_tags`` the UPOS, XPOS and FEATS of the sentences are kept and used; a layer that a
        sentence lacks is predicted.

        ``constraints``, one for each sentence, fix and forbid values; everything else is the best
        completion. With ``respect_input`` every value that a sentence has in one of the model's
        layers is fixed (unless ``constraints`` fix another one); ``MISSING`` and ``MISSING_HEAD``
        are not values.

        With ``probabilities``, True or the names of layers, ``Sentence.probabilities`` holds the
        probability of each value: for a tag or a head its marginal over all sequences or trees
        that the constraints allow, given the earlier layers; for an arc label its probability
        given the tree. Fixed values have probability 1; tags kept by ``gold_tags`` and values that
        the model does not know have none. Probabilities take a second inference.

        With ``enhanced``, ``Sentence.deps`` holds the enhanced dependencies that rules make of the
        tree (``egparse.enhanced.rules``).

        Raises:
            EgparseError: no sentences; constraints that cannot be satisfied, or on a layer that the
                model does not predict, or fewer or more than sentences; probabilities of a layer
                that the model does not predict or that is not ``probabilistic``; enhanced
                dependencies of a model without labelled trees, or of a language without rules.
        """
        asked = self.require_probabilities(probabilities)
        given = batches(as_sentences(sentences, "annotate"), BATCH_WORDS)
        annotated = self._in_batches(given, gold_tags, asked, constraints, respect_input)
        if not enhanced:
            return annotated
        self.require_enhanced()
        return (
            sentence.with_layers(deps=enhanced_dependencies(sentence, self.language))
            for sentence in annotated
        )

    def _in_batches(
        self,
        given: Iterable[list[Sentence]],
        gold_tags: bool,
        asked: Collection[str],
        constraints: Iterable[Constraints] | None,
        respect_input: bool,
    ) -> Iterator[Sentence]:
        remaining = constraints if constraints is None else each_constraints(constraints)
        number = 1
        for batch in given:
            each: Sequence[Constraints] | None = None
            if remaining is not None or respect_input:
                each = given_constraints(self.layers, batch, remaining, respect_input)
            yield from self._annotated(batch, gold_tags, asked, each, number)
            number += len(batch)
        if remaining is not None and next(remaining, None) is not None:
            raise EgparseError(f"expected constraints for {number - 1} sentences, got more")

    def _annotated(
        self,
        batch: Sequence[Sentence],
        gold_tags: bool,
        asked: Collection[str],
        each: Sequence[Constraints] | None,
        number: int,
    ) -> Iterator[Sentence]:
        """One batch of sentences with the layers filled; its first is the ``number``-th."""
        words = self.columns.words([sentence.forms for sentence in batch])
        tags = kept_tags(batch, self.layers if gold_tags else ())
        given = given_numbers(batch, self.columns, tags, self.layers)
        if self._fixed_values is not None:
            each = excepted(each, self._fixed_values, batch, self.layers, given)
        constraints = None
        if each is not None and any(each):
            constraints = resolved(self.components, BatchConstraints(batch, each, number))
        prediction = predict(self.components, words, self.layers, given, asked, constraints)
        strings = label_strings(self.columns.labels, prediction, tags, constraints)
        yield from put_back(batch, words, strings, prediction)

    def k_best(
        self,
        sentences: Sentences,
        k: int,
        *,
        gold_tags: bool = False,
    ) -> Iterator[list[ScoredSentence]]:
        """For each sentence copies with its ``k`` most probable trees, best first, and the log
        probability of each; see ``AnyParser.k_best``.

        Tags are predicted as by ``annotate``. Labels are the best given the tree, and do not enter
        its probability, which is NaN if heads are not ``probabilistic``.

        Raises:
            EgparseError: no sentences, a ``k`` that is no number from 1 on, a model without a
                parser, or a sentence too long to be parsed whole.
        """
        if not hasattr(k, "__index__") or k < 1:  # also a number of numpy
            raise EgparseError(f"k best trees: expected a number of trees from 1 on, got {k!r}")
        if PARSER not in self.components:
            raise EgparseError(
                f"k best trees: expected a model with a parser, got one of {', '.join(self.layers)}"
            )
        given = batches(as_sentences(sentences, "k_best"), BATCH_WORDS)
        return (ranked for batch in given for ranked in self._k_best(batch, k, gold_tags))

    def _k_best(
        self, batch: Sequence[Sentence], k: int, gold_tags: bool
    ) -> Iterator[list[ScoredSentence]]:
        words = self.columns.words([sentence.forms for sentence in batch])
        tags = kept_tags(batch, self.layers if gold_tags else ())
        given = given_numbers(batch, self.columns, tags, self.layers)
        fixed = self.fixed_by_exceptions(batch, given)
        found = predict_trees(self.components, words, self.layers, given, k, fixed)
        labels = self.columns.labels
        strings = label_strings(labels, found.prediction, tags, fixed)
        by_rank = []
        for heads, deprels in found.ranks:
            tree = {"heads": Values(heads)}
            if deprels is not None:
                tree["deprels"] = Values(deprels)
            of_tree = label_strings(labels, tree, {}, None)
            by_rank.append(list(put_back(batch, words, {**strings, **of_tree}, tree)))
        known = "heads" in self.probabilistic
        for i, ranked in enumerate(found.trees):
            yield [
                ScoredSentence(by_rank[rank][i], tree.log_probability if known else np.nan)
                for rank, tree in enumerate(ranked)
            ]

    def with_exceptions(self, source: str | Path) -> Model:
        """A copy with the exceptions of a file before its own (``docs/how-to/exceptions.md``);
        ``"auto"``: those that the package has for its language; ``"none"``: without any.

        Raises:
            EgparseError: the file cannot be read.
            CorpusError: it has a sentence that is no exception; by file and line.
        """
        if source == NONE:
            return replace(self, exceptions=None)
        added = read_exceptions(source, self.language)
        return self if added is None else replace(self, exceptions=added.before(self.exceptions))

    def in_treebank(self, name: str) -> Model:
        """A copy that annotates as one of the treebanks does that it has learned from
        (``columns.treebanks``); a model annotates as the first of them unless told otherwise. A
        file that the copy is saved to annotates so too.

        Raises:
            ConfigError: another treebank.
        """
        if name == self.columns.treebank:
            return self
        columns = self.columns.in_treebank(name)
        return replace(self, components=replace(self.components, columns=columns))

    def with_valid_labels(self) -> Model:
        """A copy whose labels of arcs keep the rules of Universal Dependencies about tags, the
        order of words and each other, as far as the tree lets them
        (``egparse.sequences.valid_labels``). Neither a file nor a pickle holds this choice.

        Raises:
            EgparseError: a model without labels or UPOS.
        """
        if not {"upos", "deprels"} <= set(self.layers):
            raise EgparseError(
                "valid labels: expected a model of UPOS and labels of arcs, got one of "
                f"{', '.join(self.layers)}"
            )
        labeller = self.components[LABELLER].keeping_rules(self.columns)
        return replace(self, components=self.components.with_components(labeller))

    @cached_property
    def plain_text(self) -> PlainText:
        """Tokeniser, splitter and expander, with the exceptions; rules in place of what the model
        has not learned.
        """
        learned = self.components.get
        tokeniser = learned(TOKENISER) or RuleTokeniser(self.language)
        plain_text = PlainText(tokeniser, learned(SPLITTER) or RuleSplitter(), learned(EXPANDER))
        return plain_text.with_exceptions(self.exceptions)

    @cached_property
    def _fixed_values(self) -> FixedValues | None:
        if self.exceptions is None:
            return None
        labels = self.columns.labels
        return self.exceptions.values({name: {*labels[name].strings} for name in labels})

    def fixed_by_exceptions(
        self, batch: Sequence[Sentence], given: Mapping[str, Ints]
    ) -> ResolvedConstraints | None:
        """The values that exceptions fix in some sentences, for words without a given tag."""
        if self._fixed_values is None:
            return None
        each = excepted(None, self._fixed_values, batch, self.layers, given)
        return None if each is None else resolved(self.components, BatchConstraints(batch, each))

    def require_probabilities(self, probabilities: bool | Collection[str] = True) -> frozenset[str]:
        """The layers whose probabilities an option of ``annotate`` requests.

        Raises:
            EgparseError: a layer that the model does not predict or that has no probabilities.
        """
        if isinstance(probabilities, str):
            probabilities = (probabilities,)
        asked = frozenset(self.layers if probabilities is True else probabilities or ())
        if not asked <= frozenset(self.layers):
            unknown = ", ".join(sorted(asked.difference(self.layers)))
            raise EgparseError(
                f"probabilities: expected layers of the model ({', '.join(self.layers)}), got "
                f"{unknown}"
            )
        without = [layer for layer in LAYERS if layer in asked and layer not in self.probabilistic]
        if without:
            raise EgparseError(
                "probabilities: expected layers learned with a loss that has probabilities, such "
                f"as log-linear, got {', '.join(without)}"
            )
        return asked

    def require_enhanced(self) -> None:
        """Raise EgparseError unless rules can make enhanced dependencies of the model's trees."""
        require_rules(self.language)
        if not {"heads", "deprels"} <= set(self.layers):
            raise EgparseError(
                "enhanced dependencies: expected a model of heads and labels of arcs, got one of "
                f"{', '.join(self.layers)}"
            )

    def evaluate(
        self,
        gold: str | Path | Iterable[Sentence],
        *,
        gold_tags: bool = False,
        bootstrap: int = 1000,
        seed: int = 0,
        details: bool = False,
        from_text: bool = False,
        enhanced: bool = False,
    ) -> Report:
        """The scores of the model's layers on a gold corpus, a path or sentences, with 95 %
        intervals by ``bootstrap`` resamples of its sentences; see ``egparse.evaluation.report``.

        Every layer is predicted from the words, with ``gold_tags`` also from the gold tags. The
        sentence splitter is scored on the paragraphs of ``gold``, whose words are given.

        With ``from_text`` the model is given the text of ``gold`` (``from_text.raw_text``) instead
        of its words, and finds tokens, words and sentences itself. Intervals then resample
        documents or paragraphs (``from_text.resampled_units``).

        Raises:
            EgparseError: a corpus that cannot be read, or without sentences; ``gold_tags`` or
                ``details`` with ``from_text``.
        """
        from egparse.evaluation.report import evaluate
        from egparse.io.corpus import read_corpus
        from egparse.text.training import splitter_counts
        from egparse.text.treebank_text import raw_text, resampled_units

        if isinstance(gold, str | Path):
            # Trees with several roots are scored too: scoring does not depend on their number.
            gold = read_corpus(gold, multiple_roots=True)
        sentences = list(gold)
        if from_text:
            if gold_tags or details:
                option = "gold tags" if gold_tags else "details"
                raise EgparseError(f"{option}: need the words of the gold corpus, not its text")
            return evaluate(
                sentences,
                self(raw_text(sentences), enhanced=enhanced) if sentences else [],
                layers=set(self.layers),
                bootstrap=bootstrap,
                seed=seed,
                from_text=True,
                enhanced=enhanced,
                units=resampled_units(sentences),
            )
        options: dict[str, Any] = {"gold_tags": gold_tags, "enhanced": enhanced}
        asked = self.probabilistic if details else False
        return evaluate(
            sentences,
            list(self.annotate(sentences, probabilities=asked, **options)),
            layers=set(self.layers),
            enhanced=enhanced,
            bootstrap=bootstrap,
            seed=seed,
            details=details,
            vocabulary=self.forms if details else None,
            sentence_counts=splitter_counts(self.components.get(SPLITTER), sentences),
        )

    def save(self, path: Path | str) -> None:
        """Write the model file, atomically.

        Raises:
            ModelFileError: the file cannot be written.
        """
        with collector_paused():
            write_model(Path(path), *self._content(), check=_loadable(path))

    def to_bytes(self) -> bytes:
        """The model file as bytes: as it was loaded, if that file has not changed. A pickle of a
        model holds them.
        """
        as_loaded = self._file and bytes_with_header(*self._file)
        with collector_paused():
            return as_loaded or b"".join(file_parts(*self._content(), _loadable("<bytes>")))

    def __reduce__(self) -> tuple[Callable[[bytes], Model], tuple[bytes]]:
        return Model.from_bytes, (self.to_bytes(),)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """The model itself, which does not change: ``nlp.resume_training`` copies those of all
        components.
        """
        return self

    def _content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The header and the payload of the model file."""
        header = {
            "language": self.language,
            "layers": list(self.layers),
            "probabilistic": list(self.probabilistic),
            "labels": {layer: list(known.strings) for layer, known in self.columns.labels.items()},
            "record": dict(self.record),
            "config": dict(self.config_table),
        }
        lexicon = self.columns.lexicon
        statistics, fine_tags = self.columns.statistics, self.columns.fine_tags
        payload = {
            "forms": compress_texts(lexicon.forms),
            "scheme": self.columns.scheme,
            "statistics": statistics and statistics.to_payload(),
            "fine_tags": fine_tags and fine_tags.to_payload(),
            "vocabularies": {
                name: compress_texts(known.strings) for name, known in lexicon.vocabularies.items()
            },
            **self.components.to_payload(),
        }
        if self.exceptions is not None:
            payload["exceptions"] = self.exceptions.to_payload()
        if lexicon.classes is not None:
            payload["classes"] = {
                "tables": [table.to_payload() for table in lexicon.classes.tables],
                "columns": list(lexicon.classes.names),
            }
        if treebanks := self.columns.treebanks:
            payload["treebanks"] = list(treebanks)
            if number := treebanks.index(self.columns.treebank):
                payload["treebank"] = number
        return header, payload

    @classmethod
    def load(cls, path: Path | str, *, sha256: str | None = None) -> Model:
        """Read a model file; with ``sha256`` only the file of that SHA-256 digest.

        Raises:
            ModelFileError: not a model, damaged, of a newer format, or of another digest.
        """
        digest = header_digest(path)
        with collector_paused():
            model = cls._checked(path, *read_model(path, sha256=sha256))
        object.__setattr__(model, "_file", _File(Path(path).absolute(), digest))
        return model

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model of ``to_bytes``.

        Raises:
            ModelFileError: no bytes of a model file, damaged, or of a newer format.
        """
        with collector_paused():
            return cls._checked("<bytes>", *read_model_bytes(data))

    @classmethod
    def _checked(
        cls, name: Path | str, header: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> Model:
        try:
            return cls._from_file(header, payload)
        except _FAULTS as fault:
            raise ModelFileError(f"{name}: {_described(fault)}") from fault

    @classmethod
    def _from_file(cls, header: Mapping[str, Any], payload: Mapping[str, Any]) -> Model:
        """The model of a header and a payload.

        Raises:
            Misfit: content that the declarations do not allow.
        """
        check_header(header)
        labels = {layer: Vocabulary(strings) for layer, strings in header["labels"].items()}
        stored = Stored(payload, allowance=Allowance(header["payload_length"]))
        read = stored.read(PAYLOAD)
        components = Components.from_payload(read, columns_of(stored, read, labels))
        model = cls(
            components,
            language=header["language"],
            record=header["record"],
            config_table=without_removed(header["config"]),
            exceptions=read["exceptions"] and Exceptions.from_payload(read["exceptions"]),
        )
        layers = tuple(header["probabilistic"])
        _check_layers(header["layers"], layers, model.layers)
        return replace(model, probabilistic=layers)

    def strongest(self, layer: str, count: int) -> list[tuple[str, str, float]]:
        """The (attribute, label, weight) triples of greatest weight, by size; none for the parser
        and the tasks of plain text, whose features are hashed.
        """
        return self.components.strongest(layer, count)

    def sizes(self) -> dict[str, dict[str, int]]:
        """For each layer, the tasks of plain text, the supertagger, and the tagger of several
        layers in place of these (``morphology``): labels, attributes, weights, and the bytes of
        its weights in memory.
        """
        return self.components.sizes()


def columns_of(
    stored: Stored, read: Mapping[str, Any], labels: Mapping[str, Vocabulary]
) -> Columns:
    """The columns of a payload that was ``read``, with the label sets of the header.

    Raises:
        Misfit: content that the declarations do not allow.
    """
    forms, statistics, fine_tags = read["forms"], read["statistics"], read["fine_tags"]
    vocabularies = {name: Vocabulary(strings) for name, strings in read["vocabularies"].items()}
    for name, known in vocabularies.items():
        if len(known.values) < len(known):
            raise Misfit(f"vocabularies.{name}", "texts that differ from each other", "some twice")
    if "spans" in labels:
        fault = find_tag_fault(labels["spans"].strings, read["scheme"])
        if fault is not None:
            raise Misfit("labels.spans", fault.expected, shown(fault.got))
    classes = None
    if read["classes"] is not None:
        tables = [PackedTable.from_payload(table) for table in read["classes"]["tables"]]
        names = stored.part("classes", None).part("columns", read["classes"]["columns"])
        classes = class_columns_of(names, tables)
        names.spend(4 * len(forms) * len(classes.names))  # of the lexicon's table
    columns = Columns(
        Lexicon(vocabularies, forms, classes),
        labels,
        read["scheme"],
        statistics and FormStatistics.from_payload(statistics, forms),
        fine_tags and _fine_tags_of(fine_tags, labels),
        treebanks := read["treebanks"],
    )
    stored.require(
        read["treebank"] < max(1, len(treebanks)), "treebank", "one of treebanks", read["treebank"]
    )
    return columns.in_treebank(treebanks[read["treebank"]]) if read["treebank"] else columns


def _fine_tags_of(stored: Stored, labels: Mapping[str, Vocabulary]) -> FineTags:
    missing = [layer for layer in ("upos", "feats") if layer not in labels]
    stored.require(not missing, "", "labels of UPOS and FEATS", f"none of {', '.join(missing)}")
    return FineTags.from_payload(stored, len(labels["upos"]), len(labels["feats"]))


def _check_layers(named: Sequence[str], probable: Sequence[str], held: Sequence[str]) -> None:
    """The layers that the header names must be those that the model holds."""
    if tuple(named) != tuple(held):
        raise Misfit("layers", ", ".join(held) or "none", ", ".join(named) or "none")
    if not set(probable) <= set(held):
        raise Misfit("probabilistic", f"layers of {', '.join(held)}", ", ".join(probable))


def _loadable(path: Path | str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A check of content that is about to be written: it must load."""

    def check(header: dict[str, Any], payload: dict[str, Any]) -> None:
        try:
            Model._from_file(header, payload)
        except _FAULTS as fault:
            raise ModelFileError(
                f"{path}: not written, as it could not be read again: {_described(fault)}"
            ) from fault

    return check


_FAULTS = (Misfit, ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError)


def _described(fault: Exception) -> str:
    """The fault of a file in words. Faults other than ``Misfit`` are those of settings, which are
    not declared as a part of the file.
    """
    return str(fault) if isinstance(fault, Misfit) else f"config: {fault!r}"
