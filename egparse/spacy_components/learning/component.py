"""How the components learn: to the end in ``initialize``, and by batches in ``update``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.training import Example, validate_examples
from spacy.util import logger

from egparse.errors import EgparseError
from egparse.layers import LAYERS
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.spacy_components.model_holder import ModelHolder

if TYPE_CHECKING:
    from egparse.spacy_components.learning.initial import Corpora
    from egparse.spacy_components.learning.steps import Branch
    from egparse.spacy_components.shared_models import SharedModel


class LearningPipe(ModelHolder):
    """A component that learns from Examples."""

    passing = (*ModelHolder.passing, "_initialized_by", "_known", "_base", "_added")

    _initialized_by: object = None
    """The function of Examples from which a component of the same pipeline has trained the model of
    this one too.
    """

    _known: frozenset[int] = frozenset()
    """Fingerprints of the sentences that the model was trained on to its end."""

    _base: Model | None = None
    """The model that ``rehearse`` holds to."""

    _added: tuple[str, ...] = ()
    """Labels that were added before there was a model."""

    @property
    def is_trainable(self) -> bool:
        """True: ``nlp.update`` learns, unless the component is frozen."""
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
        from egparse.spacy_components.learning import initial

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
        make = initial.untrained_shared if by_steps else initial.train_shared
        shared = make(given, wanted, self.predicts, config, labels)
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
        _know(having, given)
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
            losses[self.name] += self._learn(self._new(batch))
        return losses

    def _begin(self, batch: Sequence[Example]) -> None:
        """Get a model with weights of 0, for the words and labels of a batch; it is that of other
        components of the pipeline which began without one.
        """
        from egparse.spacy_components.learning import initial
        from egparse.spacy_components.learning.steps import begin_branch, new_branch

        begun = new_branch(self.vocab)
        if begun is not None and set(begun.origin.model.layers) & set(self.predicts):
            self._start_with(begun.origin)
            self._branch = begun
            return
        config = initial.config_of(None, None)
        config = replace(config, language=self.vocab.lang or config.language)
        given = initial.Corpora([example for example in batch if len(example.predicted)], None)
        shared = initial.untrained_shared(given, LAYERS, self.predicts, config, None)
        if shared is not None:
            self._start_with(shared)
            self._branch = begin_branch(self.vocab, shared)

    def _new(self, batch: Sequence[Example]) -> list[Sentence]:
        """The sentences of a batch that the model has not been trained on to the end."""
        from egparse.spacy_components.learning.steps import fingerprint, sentences_to_learn

        layers = self._own_layers
        found = sentences_to_learn(batch)
        return [one for one in found if fingerprint(one, layers) not in self._known]

    def _learn(self, sentences: Sequence[Sentence]) -> float:
        if not sentences:
            return 0.0
        branch = self._on_branch()
        losses = branch.update(sentences, branch.layers_of(self))
        return sum(loss for layer, loss in losses.items() if layer in self.predicts)

    def _on_branch(self) -> Branch:
        """The branch on which the model learns, together with those of other components."""
        from egparse.spacy_components.learning.steps import Branch, branch_of

        if not isinstance(self._branch, Branch):
            _ = self.required_model
            assert self._shared is not None
            self._branch = branch_of(self.vocab, self._shared)
        self._branch.join(self)
        return self._branch

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
        from egparse.spacy_components.learning.examples import sentences_of
        from egparse.spacy_components.learning.steps import disagreements

        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self._base is None or self.model is None or not self.predicts:
            return losses
        sentences = [one for example in examples for one in sentences_of(example)]
        wrong = disagreements(self._base, self.required_model, sentences, self._own_layers)
        losses[self.name] += self._learn(wrong)
        return losses

    @property
    def _rehearsal_model(self) -> Model | None:
        """The model of ``rehearse``; ``nlp.resume_training`` sets a copy of the present one."""
        return self._base

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: Model | None) -> None:
        self._base = model

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
        from egparse.spacy_components.label_tables import from_spacy

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


def _know(pipes: Sequence[LearningPipe], given: Corpora) -> None:
    """Let components remember the sentences that their model was trained on to its end."""
    from egparse.spacy_components.learning.steps import fingerprint, sentences_to_learn

    sentences = sentences_to_learn(given.train)
    for pipe in pipes:
        layers = pipe._own_layers
        pipe._known = frozenset(fingerprint(sentence, layers) for sentence in sentences)
