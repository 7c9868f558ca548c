"""What all components share: the life of a pipe, from a model's name to Docs, to files and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from egparse.errors import EgparseError
from egparse.layers import LAYERS, WORD_TAGS
from egparse.pipeline.model import Model
from egparse.spacy_components import shared_models as models
from egparse.spacy_components.documents import Batch, read
from egparse.spacy_components.label_tables import LabelTables
from egparse.spacy_components.probabilities import put, register
from egparse.types import Ints

TAG_ATTRIBUTES = tuple(LAYERS[layer].spacy_attribute for layer in WORD_TAGS)
"""The attributes of tokens that hold the layers ``WORD_TAGS``."""

MOST_WORDS = 16_000
"""Words that taggers annotate at a time: the more, the fewer forms are looked at twice."""


class EgparsePipe(Pipe):
    """A component that annotates with the layers ``predicts`` of a model; a subclass says which and
    how.

    The model is immutable and shared by all pipes that have the same one. A pipe itself changes
    only when it gets another model, so threads may share it.
    """

    predicts: ClassVar[tuple[str, ...]] = ()
    """The layers to predict; a model must have one of them (a sentence splitter has none)."""

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
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.configured = model
        self.overwrite = overwrite
        self.use_tags = use_tags
        self.probabilities = probabilities
        self.scorer = scorer
        self._shared: models.SharedModel | None = None
        self._tables: LabelTables | None = None
        self._fault: str | None = None
        self._trained_on: object = None
        if probabilities:
            register()
        if model is not None:
            self._load_configured(model)

    def _load_configured(self, model: str) -> None:
        """Load the model that the configuration names.

        A saved pipeline is made anew from its configuration before its own copy of the model is
        read, maybe where no such file exists any more: so a fault is told when the model is needed.
        """
        try:
            self.share(models.load(models.resolve(model)))
        except EgparseError as error:
            self._fault = str(error)

    @property
    def model(self) -> Model | None:
        """The model, or None while there is none: spaCy asks any pipe for it."""
        return self._shared.model if self._shared is not None else None

    @property
    def required_model(self) -> Model:
        """The model.

        Raises:
            EgparseError: there is none, and why.
        """
        if self._shared is None:
            reason = (
                self._fault
                or "expected a model, by the setting 'model' or nlp.initialize, got none"
            )
            raise EgparseError(f"{self.name}: {reason}")
        return self._shared.model

    @property
    def tables(self) -> LabelTables:
        """The labels of the model as spaCy's numbers."""
        if self._tables is None:
            raise EgparseError(f"{self.name}: expected a model, got none")
        return self._tables

    def share(self, shared: models.SharedModel) -> None:
        """Use this model from now on.

        Raises:
            EgparseError: it lacks the layers, or the probabilities, that this component is for.
        """
        self._require_layers(shared.model)
        self._shared, self._fault = shared, None
        self._tables = LabelTables(shared.model, self.vocab)

    def _require_layers(self, model: Model) -> None:
        if self.predicts and not set(self.predicts) & set(model.layers):
            raise EgparseError(
                f"{self.name}: expected a model with {' or '.join(self.predicts)}, got one with "
                f"{', '.join(model.layers) or 'nothing'}"
            )
        if self.probabilities:
            model.require_probabilities([layer for layer in self.predicts if layer in model.layers])

    # -- Docs --------------------------------------------------------------------------------------

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Annotate Docs in place, all in one call of the model."""
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
        return read(
            docs, self.required_model.splitter, attributes=attributes, keep_starts=keep_starts
        )

    def given_tags(self, batch: Batch) -> dict[str, Ints]:
        """The tags that a batch read with ``TAG_ATTRIBUTES`` brings, as label numbers of words."""
        return {
            layer: self.tables.numbers(layer, batch.held[attribute][batch.places])
            for layer, attribute in zip(WORD_TAGS, TAG_ATTRIBUTES, strict=True)
            if layer in self.required_model.columns.labels
        }

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the model that this component predicts or looks at."""
        return tuple(
            layer for layer in self.required_model.layers if layer in {*self.predicts, *self.uses}
        )

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

    # -- labels ------------------------------------------------------------------------------------

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

    @property
    def is_trainable(self) -> bool:
        """False: training runs to its end in ``initialize``, and there is no ``update``."""
        return False

    # -- training ----------------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        training: dict[str, Any] | str | None = None,
        labels: dict[str, list[str]] | None = None,
    ) -> None:
        """Train a model on Examples, one for all components of ours in the pipeline that have none
        by configuration.

        Nothing happens where the configuration names a model, or where no Example is annotated.
        ``training`` is the path of a configuration of training, or a table that says the same;
        ``labels`` what ``label_data`` said.

        Raises:
            EgparseError: a model that is named but cannot be loaded, faulty settings, a label that
                is not among ``labels``.
        """
        from egparse.spacy_components.training import train_shared

        if self.configured is not None:
            if self.model is None:
                self._load_configured(self.configured)
            _ = self.required_model
            return
        if self._trained_on is get_examples and training is None:
            self._trained_on = None
            return
        pipes = (
            [proc for _, proc in nlp.pipeline if isinstance(proc, EgparsePipe)]
            if nlp is not None
            else []
        )
        partners = [proc for proc in pipes if proc is not self and proc.configured is None]
        shared = train_shared(get_examples, [self, *partners], training, labels)
        if shared is None:
            return
        self.share(shared)
        for partner in partners:
            try:
                partner.share(shared)
            except EgparseError:
                continue  # the Examples have nothing for it
            partner._trained_on = get_examples

    # -- files -------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, or the name of the pipe beside it that has the same."""
        folder = util.ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._shared is not None and "model" not in exclude:
            models.save_in(self._shared, folder)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> EgparsePipe:
        """Read what ``to_disk`` has written."""
        if "model" not in exclude:
            shared = models.load_from(util.ensure_path(path))
            if shared is not None:
                self.share(shared)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes, empty without one."""
        return (
            self._shared.to_bytes() if self._shared is not None and "model" not in exclude else b""
        )

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> EgparsePipe:
        """Take what ``to_bytes`` gave."""
        if data and "model" not in exclude:
            self.share(models.from_bytes(data))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "vocab": self.vocab,
            "name": self.name,
            "configured": self.configured,
            "overwrite": self.overwrite,
            "use_tags": self.use_tags,
            "probabilities": self.probabilities,
            "scorer": self.scorer,
            "shared": self._shared,
            "fault": self._fault,
            "error_handler": getattr(self, "error_handler", None),
        }
        return _rebuilt, (type(self), state)


def _rebuilt(kind: type[EgparsePipe], state: Mapping[str, Any]) -> EgparsePipe:
    settings = {name: state[name] for name in ("overwrite", "use_tags", "probabilities", "scorer")}
    pipe = kind(state["vocab"], state["name"], **settings)
    pipe.configured, pipe._fault = state["configured"], state["fault"]
    if state["shared"] is not None:
        pipe.share(state["shared"])
    if state["error_handler"] is not None:
        pipe.set_error_handler(state["error_handler"])
    return pipe


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
