"""The base of all tasks whose predictor has a sequence model: tokens, sentences, multiword tokens,
tags, lemmas and labels of arcs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from egparse.config.sections import LearningConfig
from egparse.features.templates import Templates
from egparse.fitting.choose_learner import build_learner, require_fit
from egparse.fitting.prepared import Prepared
from egparse.fitting.task import Outcomes
from egparse.sequences.fit import SequenceExamples, SequenceSettings, prepare_sequence
from egparse.sequences.model import SequenceModel, SequencePredictor

Predictor = TypeVar("Predictor", bound=SequencePredictor)
Config = TypeVar("Config", bound=LearningConfig)


class Lesson(NamedTuple, Generic[Predictor]):
    """What a task learns from: items with columns, correct labels and candidates, the templates
    over the columns, what makes a predictor of a model, and the model that training continues from.
    """

    examples: SequenceExamples
    templates: Templates
    predictor: Callable[[SequenceModel], Predictor]
    base: SequenceModel | None = None


@dataclass(frozen=True, kw_only=True)
class SequenceTask(ABC, Generic[Predictor, Config]):
    """A task of labels over sequences of items.

    With a ``base``, over the same columns and labels, training continues from it. With ``in_full``
    predictors are not reduced to what a model file holds.
    """

    config: Config
    seed: int
    base: Predictor | None = None
    in_full: bool = False

    keeps_last: ClassVar[bool] = False
    learns: ClassVar[str | None] = None
    """What its learner must be able to learn, in words; None where other checks say so."""

    of_learner: ClassVar[tuple[str, ...]] = ()
    """Settings of the task that are settings of online EG."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The section of the configuration, and the name in progress and tables."""

    @property
    def layer(self) -> str:
        """The layer that it predicts."""
        return self.name

    @abstractmethod
    def lesson(self, config: Config) -> Lesson[Predictor]:
        """Examples and templates by the settings."""

    @abstractmethod
    def score(self) -> Callable[[Predictor], float] | None:
        """The development score in per cent of items or F1, None without development data."""

    @abstractmethod
    def outcomes(self, predictor: Predictor) -> Outcomes[Predictor]:
        """The predictions for the development part, to which the temperature is fitted."""

    def facts(self, predictor: Predictor) -> dict[str, Any]:
        """What the record of training says of a predictor beside its best pass."""
        return {}

    def without_model(self) -> Predictor | None:
        """The predictor, if there is nothing to decide that a model could be learned for."""
        return None

    def as_stored(self, predictor: Predictor) -> Predictor:
        """The predictor as a model file holds it."""
        return predictor.reduced(cast(Any, self.config))

    def prepare(self, config: LearningConfig | None = None) -> Prepared[Predictor]:
        """Index the attributes, lay out weights and duals, and build the learner.

        Raises:
            ConfigError: a template, a learner or an order that does not fit.
        """
        settings = self.config if config is None else cast(Config, config)
        if self.learns is not None:
            require_fit(self.name, settings, self.learns)
        lesson = self.lesson(settings)
        of_learner = {name: getattr(settings, name) for name in self.of_learner}
        prepared = prepare_sequence(
            lesson.examples,
            SequenceSettings(
                templates=lesson.templates,
                min_count=cast(Any, settings).min_count,
                full_row_min_count=getattr(settings, "full_row_min_count", 1),
                bigrams=getattr(settings, "bigrams", False),
                learner=lambda problem, offsets: build_learner(
                    problem, settings, self.seed, offsets, **of_learner
                ),
                base=lesson.base,
                in_full=self.in_full,
            ),
        ).then(lesson.predictor)
        return prepared if self.in_full else prepared.then(self.as_stored)
