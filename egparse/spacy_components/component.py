"""The base class of the components: Docs in batches, labels and training, over a model that
``ModelHolder`` keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from egparse.layers import LAYERS, WORD_TAGS
from egparse.pipeline.annotate import Prediction, predict_forms
from egparse.pipeline.constraints import ResolvedConstraints
from egparse.sentences import Sentence, SurfaceToken
from egparse.spacy_components.documents import Batch, read
from egparse.spacy_components.label_tables import OUTSIDE
from egparse.spacy_components.learning.component import LearningPipe
from egparse.spacy_components.probabilities import put, register
from egparse.spacy_components.tokens.multiword import expanded
from egparse.types import Ints

TAG_ATTRIBUTES = tuple(LAYERS[layer].spacy_attribute for layer in WORD_TAGS)
"""The attributes of tokens that hold the layers ``WORD_TAGS``."""

MOST_WORDS = 16_000
"""Words that taggers annotate at a time: the more, the fewer forms are looked at twice."""


class EgparsePipe(LearningPipe, Pipe):
    """A component that annotates with the layers ``predicts`` of a model; a subclass says which and
    how.

    The model is immutable and shared by all pipes that have the same one. A pipe itself changes
    only when it gets another model, so threads may share it.
    """

    n_words: ClassVar[int] = MOST_WORDS
    """Annotated at a time."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Layers that those are predicted from, where the model has them."""

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        *,
        model: str | None = None,
        overwrite: bool = False,
        use_tags: bool = True,
        probabilities: bool = False,
        scorer: Callable[..., Any] | None = None,
        awaits_copy: bool = False,
    ) -> None:
        self.overwrite, self.use_tags, self.scorer = overwrite, use_tags, scorer
        self.probabilities = probabilities
        if probabilities:
            register()
        self.start(vocab, name, model, awaits_copy)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        if self.probabilities:
            register()

    kept: ClassVar[tuple[str, ...]] = ()
    """Attributes of tokens whose values are kept unless ``overwrite``."""

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Annotate Docs in place, all in one call of the model."""
        tags = TAG_ATTRIBUTES if self.reads_tags else ()
        held = () if self.overwrite else self.kept
        batch = self.read(self.open_docs(docs), attributes=(*tags, *held))
        if batch.n_tokens:
            given = self.given_tags(batch) if self.reads_tags else {}
            self.put(batch, self.predict(batch, given))

    def open_docs(self, docs: Sequence[Doc]) -> Sequence[Doc]:
        """The Docs that are to be annotated."""
        return docs

    @property
    def reads_tags(self) -> bool:
        """Whether the tags of the Docs are used."""
        return self.use_tags

    def put(self, batch: Batch, found: Prediction) -> None:
        """Write a prediction into the Docs."""
        raise NotImplementedError

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one Doc in place."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, some thousand words at a time and at most ``batch_size`` Docs.

        Where a batch fails its Docs are tried one by one, so that the error handler gets those that
        fail by themselves.
        """
        for docs in _batches(stream, batch_size, self.n_words):
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
        splitter = self.required_model.plain_text
        return read(docs, splitter, attributes=attributes, keep_starts=keep_starts)

    def given_tags(self, batch: Batch) -> dict[str, Ints]:
        """The tags that a batch read with ``TAG_ATTRIBUTES`` brings, as label numbers of words;
        nothing for a layer that it has no tags of.
        """
        return {
            layer: self.tables.numbers(layer, values[batch.places])
            for layer, attribute in zip(WORD_TAGS, TAG_ATTRIBUTES, strict=True)
            if layer in self.required_model.columns.labels
            and np.count_nonzero(values := batch.held[attribute])
        }

    def predict(self, batch: Batch, given: Mapping[str, Ints]) -> Prediction:
        """The layers of this component for the words of a batch, from given tags; one value for
        each multiword token.
        """
        model, spans = self.required_model, self.tables.spans
        of_words = expanded(batch)
        if of_words is None:
            return self._predicted(batch.sentences(), repeat(()), given)
        labels = model.columns.labels
        found = self._predicted(
            of_words.sentences(), of_words.tokens(), of_words.given(given, labels)
        )
        of_words.keep(found, labels)
        return of_words.on_tokens(found, None if spans is None else spans.codes == OUTSIDE)

    def _predicted(
        self,
        sentences: Sequence[Sequence[str]],
        tokens: Iterable[Sequence[SurfaceToken]],
        given: Mapping[str, Ints],
    ) -> Prediction:
        """The layers of sentences of forms with some multiword tokens."""
        model = self.required_model
        excepted = None
        if model.exceptions is not None:
            batch = [
                Sentence(forms, tokens=several)
                for forms, several in zip(sentences, tokens, strict=False)
            ]

            def excepted(chosen: slice, tags: Mapping[str, Ints]) -> ResolvedConstraints | None:
                return model.fixed_by_exceptions(batch[chosen], tags)

        return predict_forms(
            model.components,
            sentences,
            self.layers,
            given,
            self.asked,
            self.n_words,
            constrain=excepted,
        )

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the model that this component predicts or looks at."""
        wanted = (*self.predicts, *self.uses)
        return tuple(layer for layer in self.required_model.layers if layer in wanted)

    @property
    def asked(self) -> tuple[str, ...]:
        """The layers whose probabilities are wanted."""
        return (
            tuple(layer for layer in self.layers if layer in self.predicts)
            if self.probabilities
            else ()
        )

    def keep_probabilities(
        self, batch: Batch, name: str, found: npt.NDArray[np.floating] | None
    ) -> None:
        """Put the probabilities of words beside their Docs."""
        if found is None:
            return
        on_tokens = batch.on_tokens(found, np.nan, np.float32)
        for doc, tokens in batch.slices():
            if len(doc):
                put(doc, name, on_tokens[tokens])

    def label_sets(self) -> dict[str, tuple[str, ...]]:
        """The labels of each layer that this component predicts, as spaCy writes them."""
        if self.model is None:
            return {}
        labels = self.model.columns.labels
        return {
            layer: self.as_spacy(layer, labels[layer].strings)
            for layer in self.predicts
            if layer in labels
        }

    def as_spacy(self, layer: str, labels: Sequence[str]) -> tuple[str, ...]:
        """Labels of a layer as spaCy writes them, sorted."""
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


def _batches(stream: Iterable[Doc], n_docs: int, n_words: int) -> Iterator[list[Doc]]:
    """Lists of at most ``n_docs`` Docs with about ``n_words`` tokens."""
    docs: list[Doc] = []
    size = 0
    for doc in stream:
        docs.append(doc)
        size += len(doc)
        if size >= n_words or len(docs) >= n_docs:
            yield docs
            docs, size = [], 0
    if docs:
        yield docs
