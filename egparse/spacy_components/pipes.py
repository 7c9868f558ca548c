"""spaCy's pipes: Docs in batches to the layers of a model, and back to attributes of tokens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from spacy.pipeline import Pipe
from spacy.symbols import SPACE
from spacy.tokens import Doc
from spacy.vocab import Vocab

from egparse.errors import EgparseError
from egparse.features.request import Values
from egparse.layers import LEMMAS, WORD_TAGS
from egparse.pipeline.annotate import (
    BATCH_WORDS,
    Constrain,
    Prediction,
    predict_forms,
    predict_trees,
)
from egparse.pipeline.constraints import ResolvedConstraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence, SurfaceToken
from egparse.spacy_components.doc_conversion import LAYERS_OF_TOKENS
from egparse.spacy_components.documents import Batch, columns_of, read
from egparse.spacy_components.label_tables import (
    BEGINS,
    INSIDE,
    OUTSIDE,
    STARTS,
    SpanTags,
    to_spacy,
)
from egparse.spacy_components.learning import LearningPipe
from egparse.spacy_components.multiword import continued, expanded
from egparse.spacy_components.noun_chunks import install
from egparse.spacy_components.probabilities import put, register
from egparse.spacy_components.shared_models import SharedModel
from egparse.types import Ints, Longs, UInt64s

logger = logging.getLogger(__name__)

TAG_ATTRIBUTES = tuple(LAYERS_OF_TOKENS[layer] for layer in WORD_TAGS)

MOST_WORDS = 16_000
"""Words that are read at a time, and annotated by taggers: the more, the fewer forms are looked at
twice.
"""

_ENTITIES = ("ENT_IOB", "ENT_TYPE")
_SPACE_TAG = "_SP"
"""The tag of white space in spaCy's pipelines."""


class EgparsePipe(LearningPipe, Pipe):
    """A component that annotates with the layers ``predicts`` of a model; a subclass says how.

    The model is immutable and shared by all pipes that have the same one. A pipe itself changes
    only when it gets another model, so threads may share it.
    """

    uses = WORD_TAGS

    n_words: ClassVar[int] = MOST_WORDS
    """Annotated at a time."""

    kept: ClassVar[tuple[str, ...]] = ()
    """Attributes of tokens whose values are kept unless ``overwrite``."""

    hide_labels: ClassVar[bool] = False
    """Whether the labels are none that say something to users."""

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        predicts: tuple[str, ...],
        *,
        model: str | None = None,
        overwrite: bool = False,
        use_tags: bool = True,
        probabilities: bool = False,
        scorer: Callable[..., Any] | None = None,
        awaits_copy: bool = False,
    ) -> None:
        self.overwrite, self.use_tags, self.scorer = overwrite, use_tags, scorer
        self.predicts, self.probabilities = predicts, probabilities
        if probabilities:
            register()
        self.start(vocab, name, model, awaits_copy)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        if self.probabilities:
            register()

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Annotate Docs in place, all in one call of the model."""
        tags = TAG_ATTRIBUTES if self.reads_tags else ()
        held = () if self.overwrite else self.kept
        batch = self.read(docs, attributes=(*tags, *held))
        if batch.n_tokens:
            given = self.given_tags(batch) if self.reads_tags else {}
            self.put(batch, self.predict(batch, given))

    @property
    def reads_tags(self) -> bool:
        """Whether the tags of the Docs are used."""
        return self.use_tags

    def put(self, batch: Batch, found: Prediction) -> None:
        raise NotImplementedError

    def __call__(self, doc: Doc) -> Doc:
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, some thousand words at a time and at most ``batch_size`` Docs.

        Where a batch fails its Docs are tried one by one, so that the error handler gets those that
        fail by themselves.
        """
        for docs in _batches(stream, batch_size):
            try:
                self._annotate(docs)
            except Exception:
                yield from self._one_by_one(docs)
            else:
                yield from docs

    def _one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        handle = self.get_error_handler()
        for doc in docs:
            try:
                self._annotate([doc])
            except Exception as error:
                handle(self.name, self, [doc], error)
            else:
                yield doc

    def _annotate(self, docs: Sequence[Doc]) -> None:
        try:
            self.annotate(docs)
        except KeyError as error:
            # spaCy would say that the component is not initialised
            raise RuntimeError(f"{self.name}: {error!r}") from error

    def read(
        self, docs: Sequence[Doc], *, attributes: Sequence[str] = (), keep_starts: bool = True
    ) -> Batch:
        """The words and sentences of Docs, split where need be by the model's splitter, with
        attributes that they hold.
        """
        return read(
            docs,
            self.required_model.plain_text,
            attributes=attributes,
            keep_starts=keep_starts,
            continued=continued(docs),
        )

    def given_tags(self, batch: Batch) -> dict[str, Ints]:
        """The tags that a batch read with ``TAG_ATTRIBUTES`` brings, as label numbers of words;
        nothing for a layer that it has no tags of.
        """
        return {
            layer: self.tables.numbers(layer, values[batch.places])
            for layer in WORD_TAGS
            if layer in self.required_model.columns.labels
            and np.count_nonzero(values := batch.held[LAYERS_OF_TOKENS[layer]])
        }

    def predict(self, batch: Batch, given: Mapping[str, Ints]) -> Prediction:
        """The layers of this component for the words of a batch, from given tags; one value for
        each multiword token.
        """
        model, of_words = self.required_model, expanded(batch)
        tokens: Iterable[Sequence[SurfaceToken]] = repeat(())
        if of_words is not None:
            tokens, given = of_words.tokens(), of_words.given(given, model.columns.labels)
        sentences = (of_words or batch).sentences()
        layers = self.layers
        asked = [layer for layer in layers if layer in self.predicts] if self.probabilities else []
        constrain = None if model.exceptions is None else _excepted(model, sentences, tokens)
        found = predict_forms(
            model.components, sentences, layers, given, asked, self.n_words, constrain
        )
        if of_words is None:
            return found
        of_words.keep(found, model.columns.labels)
        spans = self.tables.spans
        return of_words.on_tokens(found, None if spans is None else spans.codes == OUTSIDE)

    @property
    def layers(self) -> tuple[str, ...]:
        wanted = (*self.predicts, *self.uses)
        return tuple(layer for layer in self.required_model.layers if layer in wanted)

    def keep(self, batch: Batch, attribute: str, column: UInt64s) -> UInt64s:
        """A column of tokens, in which values of the Docs win unless ``overwrite``."""
        if self.overwrite:
            return column
        before = batch.held[attribute]
        return np.where(before != 0, before, column)

    def put_probabilities(
        self, batch: Batch, found: Mapping[str, npt.NDArray[np.floating] | None]
    ) -> None:
        """Put the probabilities of words beside their Docs, under names of attributes."""
        for name, values in found.items():
            if values is not None:
                on_tokens = batch.on_tokens(values, np.nan, np.float32)
                for doc, tokens in batch.slices():
                    if len(doc):
                        put(doc, name, on_tokens[tokens])

    def label_sets(self) -> dict[str, tuple[str, ...]]:
        """The labels of each layer that this component predicts, as spaCy writes them."""
        if self.model is None:
            return {}
        labels = self.model.columns.labels
        return {
            layer: self.as_spacy(labels[layer].strings)
            for layer in self.predicts
            if layer in labels
        }

    def as_spacy(self, labels: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(labels))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the last layer, as spaCy lists them."""
        return next(reversed(self.label_sets().values()), ())

    @property
    def label_data(self) -> dict[str, list[str]]:
        """The labels of every layer, plain data for ``spacy init labels``; ``initialize`` refuses
        others.
        """
        return {layer: list(labels) for layer, labels in self.label_sets().items()}


def _batches(stream: Iterable[Doc], n_docs: int) -> Iterator[list[Doc]]:
    """Lists of at most ``n_docs`` Docs with about ``MOST_WORDS`` tokens: the same for all
    components, which then read and split each Doc once.
    """
    docs: list[Doc] = []
    size = 0
    for doc in stream:
        docs.append(doc)
        size += len(doc)
        if size >= MOST_WORDS or len(docs) >= n_docs:
            yield docs
            docs, size = [], 0
    if docs:
        yield docs


def _excepted(
    model: Model, sentences: Sequence[Sequence[str]], tokens: Iterable[Sequence[SurfaceToken]]
) -> Constrain:
    """What the exceptions of a model say of sentences of forms with some multiword tokens."""
    batch = [
        Sentence(forms, tokens=several) for forms, several in zip(sentences, tokens, strict=False)
    ]

    def constrain(chosen: slice, tags: Mapping[str, Ints]) -> ResolvedConstraints | None:
        return model.fixed_by_exceptions(batch[chosen], tags)

    return constrain


class EgparseSenter(EgparsePipe):
    """Sets sentence starts, by the model's sentence splitter or, if it has none, by rule.

    Unless ``overwrite``, tokens that a Doc marks as starting a sentence, or as not starting one,
    are kept so. A parsed Doc is not changed: its sentences are those of its trees.
    """

    uses = ()
    hide_labels = True  # there are none

    def annotate(self, docs: Sequence[Doc]) -> None:
        open_docs = [doc for doc in docs if len(doc) and not _is_parsed(doc)]
        if open_docs:
            batch = self.read(open_docs, keep_starts=not self.overwrite)
            batch.put({"SENT_START": batch.start_codes().view(np.uint64)})


class EgparseTagger(EgparsePipe):
    """Sets POS, TAG and MORPH to UPOS, XPOS and FEATS; TAG to UPOS if the model has no XPOS.

    Unless ``overwrite``, existing tags are kept, and later layers are predicted from them.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The possible values of TAG."""
        sets = self.label_sets()
        return sets.get("xpos", sets.get("upos", ()))

    @property
    def reads_tags(self) -> bool:
        """Unless they are replaced."""
        return not self.overwrite

    def put(self, batch: Batch, found: Prediction) -> None:
        tables, strings, morphology = self.tables, self.vocab.strings, self.vocab.morphology
        columns = {
            LAYERS_OF_TOKENS[layer]: (tables.of[layer], found[layer])
            for layer in WORD_TAGS
            if layer in found
        }
        if "upos" in found and "xpos" not in found:
            columns["TAG"] = tables.upos_as_tags, found["upos"]
        blanks = {
            "POS": int(SPACE),
            "TAG": int(strings.add(_SPACE_TAG)),
            "MORPH": int(morphology.add("")),
        }
        batch.put(
            {
                attribute: self.keep(
                    batch, attribute, batch.on_tokens(hashes[tags.values], blanks[attribute])
                )
                for attribute, (hashes, tags) in columns.items()
            }
        )
        self.put_probabilities(
            batch, {name.lower(): tags.probabilities for name, (_, tags) in columns.items()}
        )


class EgparseLemmatizer(EgparsePipe):
    """Sets LEMMA; that of white space is the white space, as in spaCy's lemmatizer.

    Unless ``overwrite``, existing lemmas are kept. The tags of the Doc are used; missing ones are
    predicted, but not set.
    """

    kept = (LAYERS_OF_TOKENS[LEMMAS],)
    hide_labels = True  # they are edit scripts

    def put(self, batch: Batch, found: Prediction) -> None:
        lemmas, add = found[LEMMAS].values, self.vocab.strings.add
        numbers = {lemma: add(lemma) for lemma in set(lemmas)}
        column = batch.held["ORTH"].copy()
        column[batch.places] = np.array([numbers[lemma] for lemma in lemmas], dtype=np.uint64)
        (attribute,) = self.kept
        batch.put({attribute: self.keep(batch, attribute, column)})
        self.put_probabilities(batch, {"lemma": found[LEMMAS].probabilities})


class EgparseNer(EgparsePipe):
    """Sets entities, with the types of the model's training data.

    Unless ``overwrite``, the entities of a Doc are kept, predicted entities that overlap them are
    dropped, and blocked tokens (in spaCy's sense) stay blocked.
    """

    kept = _ENTITIES

    def put(self, batch: Batch, found: Prediction) -> None:
        spans = self.tables.spans
        assert spans is not None
        columns = entity_columns(batch, found["spans"].values, spans)
        if not self.overwrite:
            columns = _beside_entities(batch, *columns)
        batch.put(dict(zip(_ENTITIES, columns, strict=True)))
        self.put_probabilities(batch, {"ent": found["spans"].probabilities})

    def as_spacy(self, labels: Sequence[str]) -> tuple[str, ...]:
        return super().as_spacy([*{label[2:] for label in labels if label[2:]}])


def entity_columns(batch: Batch, labels: Ints, spans: SpanTags) -> tuple[UInt64s, UInt64s]:
    """ENT_IOB and ENT_TYPE of tokens from label numbers of words.

    An entity may contain white space, but does not begin or end with it. An I tag that continues
    nothing becomes B, because spaCy refuses it.
    """
    codes, types = spans.codes[labels], spans.types[labels]
    first = np.zeros(len(labels), dtype=np.bool_)
    first[batch.starts[:-1]] = True
    goes_on = (
        ~first[1:] & (codes[:-1] != OUTSIDE) & ~spans.ends[labels[:-1]] & (types[1:] == types[:-1])
    )
    lost = codes == INSIDE
    lost[1:] &= ~goes_on
    codes[lost] = BEGINS
    if len(labels) == batch.n_tokens:
        return codes, types
    is_word = batch.is_word
    after = np.append(np.cumsum(is_word), 0)[:-1]  # for white space: the word after it
    continued = np.append(codes == INSIDE, False)[np.minimum(after, len(codes))]
    over = ~is_word & (batch.owners() >= 0) & continued
    padded = np.append(types, np.uint64(0))
    token_codes = np.where(over, INSIDE, OUTSIDE).astype(np.uint64)
    token_codes[batch.places] = codes
    token_types = np.where(over, padded[np.minimum(after, len(codes))], 0).astype(np.uint64)
    token_types[batch.places] = types
    return token_codes, token_types


def _beside_entities(batch: Batch, codes: UInt64s, types: UInt64s) -> tuple[UInt64s, UInt64s]:
    """The entities of the Docs, and those predicted ones that do not overlap them."""
    before, types_before = (batch.held[attribute] for attribute in _ENTITIES)
    held = (before == BEGINS) | (before == INSIDE)
    if not held.any():
        return codes, types
    # Number the predicted entities, and drop those with a token of an entity of the Doc.
    numbers = np.cumsum(codes == BEGINS) * (codes != OUTSIDE)
    lost = np.isin(numbers, np.unique(numbers[held & (numbers > 0)])) & (numbers > 0)
    codes = np.where(held, before, np.where(lost, OUTSIDE, codes)).astype(np.uint64)
    types = np.where(held, types_before, np.where(lost, 0, types)).astype(np.uint64)
    return codes, types


class ScoredParse(NamedTuple):
    """One tree of the tokens ``start`` to ``end - 1`` of a Doc.

    ``heads`` are token indices in the Doc (the root is its own head); ``log_probability`` is in
    nats, nan for a model without probabilities.
    """

    start: int
    end: int
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    log_probability: float


class EgparseParser(EgparsePipe):
    """Sets a tree for each sentence, in spaCy's terms: the root is its own head, with label ROOT.

    Sentence starts of a Doc are kept, missing ones are predicted first. White space is attached to
    the word before it, or to the word after it at the start of a sentence, with the label ``dep``.
    Without ``overwrite``, parsed Docs are not changed.
    """

    n_words = BATCH_WORDS

    def share(self, shared: SharedModel) -> None:
        """Use this model from now on; ``doc.noun_chunks`` fits its labels."""
        super().share(shared)
        install(self.vocab, self.labels)

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Parse the Docs without a tree, unless trees are replaced."""
        super().annotate([doc for doc in docs if self.overwrite or not _is_parsed(doc)])

    def put(self, batch: Batch, found: Prediction) -> None:
        of_heads, of_labels = found["heads"], found.get("deprels", Values(None))
        heads, deps = self._on_tokens(batch, of_heads.values, of_labels.values)
        roots = np.flatnonzero(heads == np.arange(len(heads)))
        # in Docs without words they may be white space
        deps[roots] = np.where(batch.is_word[roots], deps[roots], self.tables.root)
        relative = (heads - np.arange(len(heads))).view(np.uint64)
        batch.put({"HEAD": relative, "DEP": deps})
        self._check_starts(batch)
        probable = {"head": of_heads.probabilities, "dep": of_labels.probabilities}
        self.put_probabilities(batch, probable)

    def _on_tokens(self, batch: Batch, heads: Ints, labels: Ints | None) -> tuple[Longs, UInt64s]:
        """The heads of tokens, as token indices, and DEP."""
        tables = self.tables
        if labels is not None:
            deps = tables.of["deprels"][labels]
        else:
            deps = np.where(heads == 0, tables.root, tables.attached).astype(np.uint64)
        return token_heads(batch, heads), batch.on_tokens(deps, tables.attached)

    def _check_starts(self, batch: Batch) -> None:
        """Correct sentence starts: spaCy derives them from the trees in a fixed number of sweeps,
        which may be too few where many arcs cross.
        """
        wanted = batch.start_codes().view(np.uint64)
        if not np.array_equal(columns_of(batch.docs, ("SENT_START",))["SENT_START"], wanted):
            logger.debug(
                "%s: spaCy derived other sentence starts from the trees; corrected", self.name
            )
            batch.put({"SENT_START": wanted})

    def as_spacy(self, labels: Sequence[str]) -> tuple[str, ...]:
        return super().as_spacy([*map(to_spacy, labels)])

    def k_best(self, doc: Doc, k: int) -> list[list[ScoredParse]]:
        """For each sentence its ``k`` most probable trees, best first; see ``Model.k_best``.

        The Doc is not changed.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence longer than the longest that is parsed whole.
        """
        batch, model = self.read([doc], attributes=TAG_ATTRIBUTES), self.required_model
        if "parser" not in model.components:
            raise EgparseError(
                f"{self.name}: expected a model with heads, got one with {', '.join(model.layers)}"
            )
        if not batch.forms:
            return []
        given = self.given_tags(batch) if self.use_tags else {}
        of_words = expanded(batch)
        if of_words is not None:
            given = of_words.given(given, model.columns.labels)
        words = model.columns.words((of_words or batch).sentences())
        ranked = predict_trees(model.components, words, self.layers, given, k)
        known, strings = "heads" in model.probabilistic, self.vocab.strings
        starts = np.append(np.flatnonzero(batch.start_codes() == STARTS), batch.n_tokens).tolist()
        result: list[list[ScoredParse]] = [[] for _ in ranked.trees]
        for rank, (flat, labels) in enumerate(ranked.ranks):
            if of_words is not None:
                highest = of_words.highest(flat)
                labels = None if labels is None else labels[highest]
                flat = of_words.token_heads(flat, highest)
            heads, deps = (column.tolist() for column in self._on_tokens(batch, flat, labels))
            for best, parses, (first, end) in zip(
                ranked.trees, result, pairwise(starts), strict=True
            ):
                if rank < len(best):
                    names = tuple(strings[dep] for dep in deps[first:end])
                    score = best[rank].log_probability if known else float("nan")
                    parses.append(ScoredParse(first, end, tuple(heads[first:end]), names, score))
        return result


def _is_parsed(doc: Doc) -> bool:
    return len(doc) > 0 and bool(doc.has_annotation("DEP"))


def token_heads(batch: Batch, heads: Ints) -> Longs:
    """The head of each token as a token index, shape (tokens,), from heads within sentences.

    A root is its own head. In a Doc of white space, the first token is the head of all.
    """
    firsts = np.repeat(batch.starts[:-1], np.diff(batch.starts))
    of_words = np.where(heads > 0, firsts + heads - 1, np.arange(len(heads)))
    first_tokens = np.repeat(batch.token_starts[:-1], np.diff(batch.token_starts))
    if not len(batch.places):
        return first_tokens
    owners = batch.owners()
    on_tokens = np.where(owners >= 0, batch.places[np.maximum(owners, 0)], first_tokens)
    on_tokens[batch.places] = batch.places[of_words]
    return on_tokens
