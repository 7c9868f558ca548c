"""Learning from batches of Examples in spaCy's training loop: ``update``, ``rehearse`` and
``add_label`` of the components.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from threading import Lock
from weakref import WeakSet, WeakValueDictionary

from spacy.training import Example
from spacy.vocab import Vocab

from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.spacy_components.learning.examples import best_sentences
from egparse.spacy_components.model_holder import ModelHolder
from egparse.spacy_components.shared_models import SharedModel
from egparse.training.steps import StepLearner


class Branch:
    """A model on its way from the one that components of a pipeline share.

    Components with the same vocabulary and the same model have the same branch, once they learn:
    each moves its own layers, and all see the whole. Layers that a component only uses, such as the
    tags that a parser sees, it moves too if no other component on the branch predicts them. The
    model before stays as it is, for other pipelines that have it.
    """

    def __init__(self, vocab: Vocab, origin: SharedModel) -> None:
        self._vocab, self.origin = vocab, origin  # kept alive: their identities are the key
        self._members: WeakSet[ModelHolder] = WeakSet()
        self._learner = StepLearner(origin.model)
        self._shared = origin
        self._lock = Lock()

    @property
    def shared(self) -> SharedModel:
        """The model after the steps so far; the same object until the next step."""
        with self._lock:
            if self._shared.model is not self._learner.model:
                self._shared = SharedModel(self._learner.model)
            return self._shared

    def join(self, member: ModelHolder) -> None:
        """Learn on this branch from now on."""
        self._members.add(member)

    def layers_of(self, member: ModelHolder) -> tuple[str, ...]:
        """The layers that a component moves."""
        others = {layer for one in self._members if one is not member for layer in one.predicts}
        used = tuple(layer for layer in member.uses if layer not in others)
        return (*used, *member.predicts)

    def update(self, sentences: Sequence[Sentence], layers: Collection[str]) -> dict[str, float]:
        """Make one step; see ``StepLearner.update``."""
        with self._lock:
            return self._learner.update(sentences, layers)

    def add_labels(self, layer: str, labels: Sequence[str]) -> int:
        """See ``StepLearner.add_labels``."""
        with self._lock:
            return self._learner.add_labels(layer, labels)


_NEW = 0
"""In place of the identity of a model: the branch of the components that began without one."""

_BRANCHES: WeakValueDictionary[tuple[int, int], Branch] = WeakValueDictionary()


def branch_of(vocab: Vocab, origin: SharedModel) -> Branch:
    """The branch of a model in the pipeline of a vocabulary, a new one if there is none."""
    key = (id(vocab), id(origin))
    known = _BRANCHES.get(key)
    return _BRANCHES.setdefault(key, Branch(vocab, origin)) if known is None else known


def new_branch(vocab: Vocab) -> Branch | None:
    """The branch of the components of a pipeline that began without a model, if there is one."""
    return _BRANCHES.get((id(vocab), _NEW))


def begin_branch(vocab: Vocab, origin: SharedModel) -> Branch:
    """A branch from a new model, for all components of a pipeline that have none."""
    branch = branch_of(vocab, origin)
    _BRANCHES[id(vocab), _NEW] = branch
    return branch


def sentences_to_learn(examples: Iterable[Example]) -> list[Sentence]:
    """The sentences of a batch; each is used for the layers that it has."""
    return [sentence for example in examples for sentence in best_sentences(example).sentences]


def fingerprint(sentence: Sentence, layers: Sequence[str]) -> int:
    """A number that equal annotation of equal words has in one process."""
    return hash((sentence.forms, *(getattr(sentence, layer) for layer in layers)))


def disagreements(
    base: Model, model: Model, sentences: Sequence[Sentence], layers: Collection[str]
) -> list[Sentence]:
    """The sentences that two models annotate differently in some layers, as the base does."""
    plain = [Sentence(forms=sentence.forms, misc=sentence.misc) for sentence in sentences]
    before, now = (list(one.annotate(plain)) for one in (base, model))
    return [
        old
        for old, new in zip(before, now, strict=True)
        if any(getattr(old, layer) != getattr(new, layer) for layer in layers)
    ]
