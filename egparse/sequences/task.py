"""Fitting sequence models: the base of all tasks whose predictor has one (tokens, sentences,
multiword tokens, tags, lemmas and labels of arcs), which indexes attributes, chooses the support
and minimises the regularised loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from egparse.config.sections import LearningConfig
from egparse.features.index import Attributes
from egparse.features.sequence import (
    NEVER,
    Division,
    WeightRows,
    supported_part_rows,
    supported_rows,
)
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import Templates
from egparse.fitting.choose_learner import build_learner, require_fit
from egparse.fitting.prepared import Prepared, require_finite
from egparse.fitting.task import Outcomes
from egparse.learners.completion import set_completion
from egparse.learners.learner import Learner, State
from egparse.sequences.model import (
    SequenceModel,
    SequencePredictor,
    build_index,
    keys_of,
)
from egparse.sequences.problem import SequenceProblem
from egparse.sequences.warm_start import keys_with_base, warm_start_of
from egparse.types import Floats, Ints, Longs, Mask, Singles

GOLD_THETA = 7.0
"""Initial theta of correct labels, above the logarithm of the number of candidates: correct with
probability 0.999.

Where labels are rare, a lower start puts more mass on them than the data has, and takes long to
undo (docs/decisions/tag-models.md).
"""

Predictor = TypeVar("Predictor", bound=SequencePredictor)
Config = TypeVar("Config", bound=LearningConfig)


class PartialTags(NamedTuple):
    """``annotated`` (words,) marks the words that have a tag; of the candidates, flat over all
    words, ``allowed`` marks those that agree with the annotation, and ``prior`` has their scores in
    nats before there is a model: a word without a tag may have any of them, weighed by the tags
    that its form has where it is annotated, backed off to the frequencies of tags.
    """

    annotated: Mask
    allowed: Mask
    prior: Floats


class SequenceExamples(NamedTuple):
    """Words with columns ``values``, sentences ``starts``, correct labels ``gold`` and their
    ``candidates`` (gold among them); what the labels are made of, if they are divided.

    With ``attributes``, these were found before, and ``values`` are not looked at.
    With ``partial``, ``gold`` is some completion of what is annotated; its labels are not divided.
    With ``chosen`` (words,), for words that choose alone, only the chosen words are learned from,
    and ``gold`` and ``candidates`` are theirs. With ``chains`` too, chosen words need not choose
    alone: sequences of them start there, (sequences + 1,), counted among the chosen words.
    """

    values: Ints
    starts: Longs
    gold: Ints
    candidates: Candidates
    n_labels: int
    division: Division | None = None
    partial: PartialTags | None = None
    chosen: Mask | None = None
    chains: Longs | None = None
    attributes: Attributes | None = None


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
    def outcomes(self, predictor: Predictor) -> Outcomes:
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
            lesson.templates,
            lambda problem, offsets: build_learner(
                problem, settings, self.seed, offsets, **of_learner
            ),
            min_count=cast(Any, settings).min_count,
            full_row_min_count=getattr(settings, "full_row_min_count", 1),
            bigrams=getattr(settings, "bigrams", False),
            base=lesson.base,
        ).then(lesson.predictor)
        return prepared if self.in_full else prepared.then(self.as_stored)


def prepare_sequence(
    examples: SequenceExamples,
    templates: Templates,
    learner: Callable[[SequenceProblem, Singles | None], Learner],
    *,
    min_count: int,
    full_row_min_count: int = 1,
    bigrams: bool = False,
    base: SequenceModel | None = None,
) -> Prepared[SequenceModel]:
    """Index attributes, lay out weights and duals.

    With ``bigrams`` a label depends on the label before it. ``learner`` takes the problem and the
    scores of its parts by the ``base``, a model over the same columns, labels and templates (None
    without a base). The weights are not rounded as in a model file.
    """
    division, partial, candidates = examples.division, examples.partial, examples.candidates
    n_classes = examples.n_labels if division is None else division.n_classes
    index, attributes = examples.attributes or _attributes_of(examples, templates, min_count, base)
    starts = examples.starts
    if examples.chosen is not None:
        starts = np.unique(np.concatenate([[0], np.cumsum(examples.chosen)])[starts])
        starts = starts.astype(np.int64) if examples.chains is None else examples.chains
    rows = _rows_of(attributes, len(index), examples, full_row_min_count)
    support = None
    if bigrams:
        # If some attributes have a weight for every label, every bigram has a weight.
        support = np.ones((n_classes, n_classes), dtype=np.bool_)
        if full_row_min_count == NEVER and division is None:
            known = examples.gold
            if partial is not None:
                known = np.where(partial.annotated, known, -1)
            support = observed_bigrams(known, starts, n_classes)
    warm_start = None
    if base is not None:
        warm_start = warm_start_of(base, index, rows)
        rows, support = warm_start.rows, warm_start.with_support(support)
    divided: dict[str, Any] = {}
    if division is not None:
        divided = {"divided": division.parts, "classes": division.classes}
        divided["n_parts"] = len(division.full_from)
        divided["are_common"] = division.full_from != NEVER
    problem = SequenceProblem(
        attributes=attributes,
        word_starts=starts,
        gold=examples.gold,
        candidates=candidates.labels,
        candidate_starts=candidates.starts,
        rows=rows,
        n_labels=examples.n_labels,
        support=support,
        allowed=None if partial is None else partial.allowed,
        **divided,
    )
    if partial is not None:
        _start_partial(problem, candidates.starts[starts], partial)
    per_word = len(candidates.labels) / max(1, len(examples.gold))

    def model_of(scale: np.float32) -> SequenceModel:
        learned, transitions = problem.rows.weights * scale, problem.transitions * scale
        if warm_start is not None:
            return warm_start.with_learned(learned, transitions)
        if not bigrams:
            transitions = np.zeros((n_classes, n_classes), dtype=np.float32)
        weights = rows._replace(weights=learned)
        opening = np.zeros(len(transitions), dtype=np.float32)
        model = SequenceModel(templates, index, weights, transitions, opening)
        if division is None:
            return model
        return replace(model, divided=division.parts, classes=division.classes)

    def snapshot(state: State) -> SequenceModel:
        with np.errstate(over="ignore", invalid="ignore"):
            model = model_of(np.float32(state.scale))
        require_finite(model.rows.weights, model.transitions)
        return model

    found = learner(problem, None if warm_start is None else warm_start.offsets(problem))
    return Prepared(found, found.initialise(GOLD_THETA + float(np.log(per_word))), snapshot)


def _attributes_of(
    examples: SequenceExamples, templates: Templates, min_count: int, base: SequenceModel | None
) -> Attributes:
    keys = keys_of(templates, examples.values, examples.starts)
    if examples.chosen is not None:
        keys = np.ascontiguousarray(keys[examples.chosen])
    index = build_index(keys, min_count)
    if base is not None:
        index = keys_with_base(index, keys, base)
    return Attributes(index, index.numbers(keys))


def _rows_of(
    attributes: Ints, n_attributes: int, examples: SequenceExamples, full_row_min_count: int
) -> WeightRows:
    """Rows of zero weights for the pairs of the examples that are annotated."""
    division, partial, gold = examples.division, examples.partial, examples.gold
    if division is not None:
        parts, full_from = division.parts, division.full_from
        return supported_part_rows(attributes, gold, n_attributes, parts, full_from)
    if partial is not None:
        attributes, gold = attributes[partial.annotated], gold[partial.annotated]
    return supported_rows(attributes, gold, n_attributes, examples.n_labels, full_row_min_count)


def _start_partial(problem: SequenceProblem, starts: Longs, partial: PartialTags) -> None:
    """Complete the sentences that are annotated in part as forms are tagged elsewhere."""
    for i in problem.partial.tolist():
        potentials = np.zeros(int(problem.part_starts[i + 1] - problem.part_starts[i]))
        prior = partial.prior[starts[i] : starts[i + 1]]
        potentials[: len(prior)] = prior
        set_completion(problem, i, potentials)


def observed_bigrams(gold: Ints, word_starts: Longs, n_labels: int) -> Mask:
    """Which label bigrams are seen inside sentences, [previous, next]; not those with a word
    without a label (-1).
    """
    begins = np.zeros(len(gold) + 1, dtype=np.bool_)
    begins[word_starts] = True
    inside = ~begins[1:-1] & (gold[:-1] >= 0) & (gold[1:] >= 0)
    seen = np.zeros((n_labels, n_labels), dtype=np.bool_)
    seen[gold[:-1][inside], gold[1:][inside]] = True
    return seen
