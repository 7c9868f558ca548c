"""How the components learn: to the end in ``initialize``, and by batches in ``update``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

from spacy.language import Language
from spacy.training import Example, validate_examples
from spacy.util import logger
from spacy.vocab import Vocab

from egparse.errors import EgparseError
from egparse.layers import LAYERS
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.spacy_components.label_tables import from_spacy
from egparse.spacy_components.shared_models import ModelHolder, SharedModel

if TYPE_CHECKING:
    from egparse.training.steps import StepLearner


class Branch(SharedModel):
    """A model on its way from the one that components of a pipeline share.

    Components with the same vocabulary and the same model have the same branch, once they learn:
    each moves its own layers, and all have the whole. Layers that a component only uses, such as
    the tags that a parser reads, it moves too if no other component on the branch predicts them.
    The model before stays as it is, for other pipelines that have it. A copy is the model as it is
    now.
    """

    def __init__(self, vocab: Vocab, origin: SharedModel) -> None:
        from egparse.training.steps import StepLearner

        self.learner: StepLearner = StepLearner(origin.model)
        super().__init__(origin.model, origin.checksum)
        self._vocab, self.origin = vocab, origin  # kept alive: their identities are the key
        self.members: WeakSet[ModelHolder] = WeakSet()
        self.warned_of = origin.warned_of
        self._lock = Lock()
        self._now = origin

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedModel:
        return self.now

    @property
    def now(self) -> SharedModel:
        """The model after the steps so far; the same object until the next step."""
        with self._lock:
            if self._now.model is not self.learner.model:
                self._now = SharedModel(self.learner.model)
            return self._now

    @property
    def model(self) -> Model:
        return self.now.model

    @property
    def checksum(self) -> bytes | None:
        return self.now.checksum

    def _is_now(self, checksum: bytes) -> None:
        self.now._is_now(checksum)

    def layers_of(self, member: ModelHolder) -> tuple[str, ...]:
        others = {layer for one in self.members if one is not member for layer in one.predicts}
        used = tuple(layer for layer in member.uses if layer not in others)
        return (*used, *member.predicts)

    def update(self, sentences: Sequence[Sentence], layers: Collection[str]) -> dict[str, float]:
        with self._lock:
            return self.learner.update(sentences, layers)

    def add_labels(self, layer: str, labels: Sequence[str]) -> int:
        with self._lock:
            return self.learner.add_labels(layer, labels)


_NEW = 0
"""In place of the identity of a model: the branch of the components that began without one."""

_BRANCHES: WeakValueDictionary[tuple[int, int], Branch] = WeakValueDictionary()


def _branch_of(vocab: Vocab, origin: SharedModel) -> Branch:
    """The branch of a model in the pipeline of a vocabulary, a new one if there is none."""
    if isinstance(origin, Branch):
        return origin
    key = (id(vocab), id(origin))
    known = _BRANCHES.get(key)
    return _BRANCHES.setdefault(key, Branch(vocab, origin)) if known is None else known


class LearningPipe(ModelHolder):
    """A component that learns from Examples."""

    passing = (*ModelHolder.passing, "_initialized_by", "_known", "_rehearsal_model", "_added")

    _initialized_by: object = None
    """The function of Examples from which a component of the same pipeline has trained the model of
    this one too.
    """

    _known: frozenset[int] = frozenset()
    """Fingerprints of the sentences that the model was trained on to its end."""

    _rehearsal_model: Model | None = None
    """The model of ``rehearse``; ``nlp.resume_training`` sets a copy of the present one."""

    _added: tuple[str, ...] = ()
    """Labels that were added before there was a model."""

    @property
    def is_trainable(self) -> bool:
        return True

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        training: dict[str, Any] | str | None = None,
        labels: dict[str, list[str]] | None = None,
        by_steps: bool = False,
    ) -> None:
        """Train a model on Examples: one for all egparse components of the pipeline whose
        configuration names none.

        Nothing happens where the configuration names a model, or where no Example is annotated.
        ``training`` is the path of a configuration file or a table of settings; ``labels`` is what
        ``label_data`` gave. With ``by_steps`` the model only gets the words and labels of the
        Examples, with weights of 0, and learns in ``update``.

        Raises:
            EgparseError: a model that is named but cannot be loaded, faulty settings, a label that
                is not among ``labels``.
        """
        from egparse.spacy_components import initial

        if self.configured is not None:
            _ = self.required_model
            return
        if self._initialized_by is get_examples and training is None:
            self._initialized_by = None
            return
        others: list[object] = [] if nlp is None else [pipe for _, pipe in nlp.pipeline]
        partners = [
            pipe
            for pipe in others
            if isinstance(pipe, LearningPipe) and pipe is not self and pipe.configured is None
        ]
        wanted = {layer for pipe in (self, *partners) for layer in (*pipe.predicts, *pipe.uses)}
        given, config = initial.corpora(get_examples, nlp), initial.config_of(training, nlp)
        shared = initial.make_shared(given, wanted, self.predicts, config, labels, by_steps)
        if shared is None:
            if self.model is None:
                logger.warning(
                    "%s: no Example is annotated with %s; the component has no model yet",
                    self.name,
                    " or ".join(self.predicts) or "sentence starts",
                )
            return
        self._start_with(shared)
        having: list[LearningPipe] = [self]
        for partner in partners:
            try:
                partner._start_with(shared)
            except EgparseError:
                continue  # the Examples have nothing for it
            partner._initialized_by = get_examples
            having.append(partner)
        if by_steps:
            return
        sentences = _sentences_to_learn(given.train)
        for pipe in having:
            pipe._known = frozenset(map(pipe._fingerprint, sentences))
        if nlp is not None:
            initial.end_training_loop(nlp, (self, *partners))

    def _start_with(self, shared: SharedModel) -> None:
        self.share(shared)
        added, self._added = self._added, ()
        for label in added:
            self.add_label(label)

    @property
    def _own_layers(self) -> tuple[str, ...]:
        return tuple(layer for layer in self.required_model.layers if layer in self.predicts)

    def _fingerprint(self, sentence: Sentence) -> int:
        """A number that equal annotation of equal words has in one process."""
        return hash((sentence.forms, *(getattr(sentence, layer) for layer in self._own_layers)))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: object = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch, in one step (``egparse.training.steps``); the loss in nats, summed
        over the words of the batch, is added to ``losses``.

        Sentences that ``initialize`` has trained on to the end are left out. A component without a
        model gets one for the words and labels of the batch. There is no dropout and no optimiser:
        ``drop`` and ``sgd`` are ignored.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        batch = list(examples)
        validate_examples(batch, f"{type(self).__name__}.update")
        if self.model is None:
            self._begin(batch)
        if self.model is not None and self.predicts:
            sentences = _sentences_to_learn(batch)
            new = [one for one in sentences if self._fingerprint(one) not in self._known]
            losses[self.name] += self._learn(new)
        return losses

    def _begin(self, batch: Sequence[Example]) -> None:
        """Get a model with weights of 0, for the words and labels of a batch; it is that of other
        components of the pipeline which began without one.
        """
        from egparse.spacy_components import initial

        begun = _BRANCHES.get((id(self.vocab), _NEW))
        if begun is not None and set(begun.origin.model.layers) & set(self.predicts):
            self._start_with(begun.origin)
            self._shared = begun
            return
        config = initial.config_of(None, None)
        config = replace(config, language=self.vocab.lang or config.language)
        given = initial.Corpora([example for example in batch if len(example.predicted)], None)
        shared = initial.make_shared(given, LAYERS, self.predicts, config, None, by_steps=True)
        if shared is not None:
            self._start_with(shared)
            self._shared = _BRANCHES[id(self.vocab), _NEW] = _branch_of(self.vocab, shared)

    def _learn(self, sentences: Sequence[Sentence]) -> float:
        if not sentences:
            return 0.0
        branch = self._on_branch()
        losses = branch.update(sentences, branch.layers_of(self))
        return sum(loss for layer, loss in losses.items() if layer in self.predicts)

    def _on_branch(self) -> Branch:
        """The branch on which the model learns, together with those of other components."""
        _ = self.required_model
        assert self._shared is not None
        self._shared = branch = _branch_of(self.vocab, self._shared)
        branch.members.add(self)
        return branch

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: object = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Hold to the model that there was at ``nlp.resume_training``: learn its annotation of the
        texts of Examples where that of the present model differs (pseudo-rehearsal, Robins 1995).

        Nothing happens without ``resume_training``.
        """
        from egparse.spacy_components.doc_conversion import sentences_of

        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self._rehearsal_model is None or self.model is None or not self.predicts:
            return losses
        sentences = [
            Sentence(forms=sentence.forms, misc=sentence.misc)
            for example in examples
            for sentence in sentences_of(example)
        ]
        before, now = (
            model.annotate(sentences) for model in (self._rehearsal_model, self.required_model)
        )
        losses[self.name] += self._learn(
            [
                old
                for old, new in zip(before, now, strict=True)
                if any(getattr(old, layer) != getattr(new, layer) for layer in self._own_layers)
            ]
        )
        return losses

    def finish_update(self, sgd: object) -> None:
        """Nothing: ``update`` has moved the weights."""

    def add_label(self, label: str, layer: str | None = None) -> int:
        """Let the model have another label; returns 1 if it is new, else 0. ``layer`` is needed
        where the component predicts several layers with labels.

        Labels of Examples need not be added before ``update`` or ``initialize``. Those that are
        added before there is a model are kept for the one that these make.

        Raises:
            EgparseError: a layer that this component does not predict, or none where it is needed.
        """
        if self.model is None:
            is_new = label not in self._added
            self._added = (*self._added, label) if is_new else self._added
            return int(is_new)
        layers = [one for one in self._own_layers if one != "heads"]
        if layer is None and len(layers) == 1:
            layer = layers[0]
        if layer not in layers:
            raise EgparseError(
                f"{self.name}: expected the layer of the label ({', '.join(layers)}), got {layer}"
            )
        if layer == "deprels":
            label = from_spacy(label)
        return self._on_branch().add_labels(layer, [label])


def _sentences_to_learn(examples: Iterable[Example]) -> list[Sentence]:
    """The sentences of a batch; each is used for the layers that it has."""
    from egparse.spacy_components.doc_conversion import sentences_to_learn

    return sentences_to_learn(examples).sentences
