"""Evaluation of a model: its predictions for the words of a gold corpus, scored against it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from egparse.evaluation.report import Report, evaluate
from egparse.sentences import Sentence
from egparse.types import Longs


class Annotator(Protocol):
    """What evaluation uses of a model; ``pipeline.model.Model`` has it."""

    @property
    def layers(self) -> Collection[str]:
        """The layers that the model predicts."""

    @property
    def probabilistic(self) -> Collection[str]:
        """The layers for which the model has probabilities."""

    @property
    def forms(self) -> frozenset[str]:
        """The forms of the training corpus."""

    def annotate(
        self,
        sentences: Iterable[Sentence],
        *,
        gold_tags: bool = False,
        probabilities: bool | Collection[str] = False,
    ) -> Iterable[Sentence]:
        """Copies of the sentences in which the model's layers are predicted."""


def evaluate_model(
    model: Annotator,
    gold: Sequence[Sentence],
    *,
    gold_tags: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
    sentence_counts: Longs | None = None,
) -> Report:
    """Score the layers that a model predicts from the words of ``gold``.

    With ``gold_tags`` the parser sees the gold tags instead of predicted ones. ``bootstrap`` is the
    number of resamples for the intervals, 0 for none; ``seed`` draws them. With ``details`` the
    report has break-downs, and the calibration of the layers for which the model has probabilities.
    ``sentence_counts`` is the score of the model's splitter on ``gold``, as in ``evaluate``.

    Raises:
        EgparseError: no gold sentences.
    """
    asked = model.probabilistic if details else False
    predicted = list(model.annotate(gold, gold_tags=gold_tags, probabilities=asked))
    return evaluate(
        gold,
        predicted,
        layers=set(model.layers),
        bootstrap=bootstrap,
        seed=seed,
        details=details,
        vocabulary=model.forms if details else None,
        sentence_counts=sentence_counts,
    )
