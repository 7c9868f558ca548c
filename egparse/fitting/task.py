"""The contract of a task, by which it is trained, jackknifed, tuned, or continued from a base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from egparse.config.sections import LearningConfig
from egparse.evaluation.calibration import fit_temperature
from egparse.features.word_table import Words
from egparse.fitting.choose_learner import is_probabilistic, loss_of
from egparse.fitting.journal import Journal
from egparse.fitting.optimise import optimise
from egparse.fitting.prepared import Best, Prepared
from egparse.fitting.progress import Listener
from egparse.sentences import MISSING, Sentence, select
from egparse.types import Floats, Longs, Mask


class Part(NamedTuple):
    """A part of a corpus: its sentences, and their words with the tags that tasks will see."""

    sentences: Sequence[Sentence]
    words: Words

    def annotated(self, layer: str) -> Mask:
        """The words with a value in a layer; ``_`` is one in FEATS, if any word has another, except
        where ``lacks`` says otherwise.
        """
        present = _filled(self.sentences, layer)
        if layer == "feats" and present.any():
            return ~self.lacks(layer)
        return present

    def lacks(self, layer: str) -> Mask:
        """See ``not_annotated``."""
        return not_annotated(self.sentences, layer)

    def select(self, chosen: Mask) -> Selection:
        """The chosen sentences, and the rows of their words among all words."""
        starts, distinct, form_ids, values = self.words
        lengths = np.diff(starts)
        rows = np.flatnonzero(np.repeat(chosen, lengths))
        new_starts = np.zeros(int(chosen.sum()) + 1, dtype=np.int64)
        np.cumsum(lengths[chosen], out=new_starts[1:])
        words = Words(new_starts, distinct, form_ids[rows], values[rows])
        return Selection(Part(select(self.sentences, chosen.tolist()), words), rows)


def not_annotated(sentences: Sequence[Sentence], layer: str) -> Mask:
    """The words, (words,), whose cell in a layer is ``_`` because nobody has annotated it. In FEATS
    these are the words without UPOS, where other words have one, and those of sentences without the
    column.
    """
    empty = ~_filled(sentences, layer)
    if layer != "feats":
        return empty
    tagged = _filled(sentences, "upos")
    lengths = [len(one) for one in sentences]
    unseen = np.repeat(np.array([not one.feats for one in sentences], dtype=np.bool_), lengths)
    return empty & (unseen | (~tagged & bool(tagged.any())))


def _filled(sentences: Sequence[Sentence], layer: str) -> Mask:
    """The words whose cell in a layer is not ``_``."""
    filled = bytearray()
    for sentence in sentences:
        tags = getattr(sentence, layer) or (MISSING,) * len(sentence)
        filled.extend([tag != MISSING for tag in tags])
    return np.frombuffer(filled, dtype=np.bool_)


class Selection(NamedTuple):
    """Some sentences of a part, and the rows of their words among all words of the part."""

    part: Part
    rows: Longs


class Calibrated(Protocol):
    """A predictor whose probabilities are those of scores divided by a temperature."""

    @property
    def temperature(self) -> float:
        """The temperature, 1 before calibration."""

    def with_temperature(self, temperature: float) -> Self:
        """The same predictor at another temperature, which changes no prediction."""


Predictor = TypeVar("Predictor", bound=Calibrated)


class Outcomes(NamedTuple):
    """The predictions for the development part: which are right, which count for calibration, and
    their probabilities at a temperature; all of shape (words,). They are asked for at many
    temperatures, for which scores are computed once.
    """

    right: Mask
    counted: Mask
    probabilities: Callable[[float], Floats]

    @classmethod
    def of_all(cls, right: Mask, probabilities: Callable[[float], Floats]) -> Self:
        """Outcomes that all count."""
        return cls(right, np.ones(len(right), dtype=np.bool_), probabilities)


class Task(Protocol[Predictor]):
    """One predictor to be learned."""

    @property
    def name(self) -> str:
        """The section of the configuration, which is also its name in progress and tables."""

    @property
    def layer(self) -> str:
        """The layer that it predicts: ``heads`` for parser and pruner."""

    @property
    def config(self) -> LearningConfig:
        """Its settings."""

    @property
    def base(self) -> Predictor | None:
        """The predictor that training continues from, None without one."""

    @property
    def keeps_last(self) -> bool:
        """Whether the last pass is kept whatever its score."""

    def prepare(self, config: LearningConfig | None = None) -> Prepared[Predictor]:
        """Lay out problem and learner, with other settings in place of ``config`` if given."""

    def score(self) -> Callable[[Predictor], float] | None:
        """The development score in per cent of words or F1, None without development data."""

    def outcomes(self, predictor: Predictor) -> Outcomes:
        """The predictions for the development part, to which the temperature is fitted."""

    def facts(self, predictor: Predictor) -> dict[str, Any]:
        """What the record of training says of a predictor beside its best pass."""

    def without_model(self) -> Predictor | None:
        """The predictor, if there is nothing to decide that a model could be learned for."""


def fit(
    task: Task[Predictor], listener: Listener, journal: Journal | None = None
) -> Best[Predictor]:
    """Train: the predictor with the best development score, or the last one. What a ``journal`` has
    is taken from there.
    """
    score = None if task.keeps_last else task.score()
    entry = None if journal is None else journal.task(task.name)
    return optimise(task.prepare(), task.config.stop, score, task.name, listener, entry)


def calibrated(task: Task[Predictor], predictor: Predictor) -> Predictor:
    """The predictor at the temperature at which its probabilities fit the development part best.

    Without development words the temperature is 1 / beta, or the one of its base; a model without
    probabilities keeps 1.
    """
    if not is_probabilistic(task.config):
        return predictor
    learned = 1.0 / loss_of(task.config)[0] if task.base is None else task.base.temperature
    right, counted, probabilities = task.outcomes(predictor)

    def of_counted(temperature: float) -> Floats:
        # NaN -> 0.5: constant in the temperature, so it does not affect the fit
        return np.nan_to_num(probabilities(temperature)[counted], nan=0.5)

    return predictor.with_temperature(fit_temperature(of_counted, right[counted], learned))
