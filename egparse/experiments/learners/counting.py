"""Generative models behind the interface of all learners: one pass counts, and log probabilities
become the weights of the problem.

*hmm*: label bigrams P(q | p) and, at each word, its attributes P(a | y); *naive-bayes*: labels P(y)
and attributes P(a | y), each choice alone (McDonald 2009, "Discriminative versus Generative").
Every distribution is (count + lambda) / (total + lambda * outcomes). Groups of attributes that
exclude each other (the templates of a tagger) are independent draws of one symbol each, which may
be none. So if the templates give each word a single symbol, hmm is the hidden Markov model; with
more templates its emission is that of naive Bayes, whose draws are not independent in truth, so
that its probabilities are overconfident. Attributes without groups are multinomial, and their
values are counts.

The weights, with c_ay the count of attribute a with label y, and c_0y the number of choices with
label y and no attribute of a's group:

    w_ay = log P(a | y) - log P(none | y) = log((c_ay + lambda) / (c_0y + lambda)), w_0y = sum over
    groups of log P(none | y)  (+ log P(y) without bigrams),  less its mean over labels,

where w_0 are the weights of an attribute that all choices have, such as the template ``bias``. The
scores are then log P(x, y) up to a constant of x. A problem may have no weights for pairs that were
never seen. Then the unseen labels of an attribute, whose weights would be log(lambda / (c_0y +
lambda)), all get the mean of these values, which is subtracted from the weights of the seen labels;
likewise for bigrams never seen.

We differ from the textbook where the problem has no weights: the first label is uniform, and
sentences have no end. Words without attributes in the problem, the rare ones, are one symbol.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import DesignMatrix, Problem
from egparse.types import Floats, Longs, Mask


@dataclass(frozen=True, kw_only=True)
class CountingConfig(LearnerConfig):
    """``smoothing`` is the lambda of labels and attributes, ``transition_smoothing`` that of label
    bigrams.

    Raises:
        ConfigError: a value that is not positive, which would make unseen events impossible.
    """

    smoothing: Annotated[float, Interval(ge=1e-9, le=1e9), "of labels and attributes"] = 0.001
    transition_smoothing: Annotated[float, Interval(ge=1e-9, le=1e9), "of label bigrams"] = 0.1
    name: ClassVar[str] = "naive-bayes"

    def __post_init__(self) -> None:
        if not min(self.smoothing, self.transition_smoothing) > 0:
            raise ConfigError(f"expected smoothing > 0 and transition_smoothing > 0, got {self}")

    @classmethod
    def _of_common(cls, common: LearnerConfig) -> dict[str, Any]:
        """Counting minimises no loss and does not regularise: C is ignored."""
        if (common.beta, common.gamma) != (LearnerConfig.beta, LearnerConfig.gamma):
            raise ConfigError(
                f"{cls.name} counts and minimises no loss: leave the loss unset, "
                f"got beta = {common.beta:g}, gamma = {common.gamma:g}"
            )
        return {}


@dataclass(frozen=True, kw_only=True)
class HMMConfig(CountingConfig):
    """The settings of the hidden Markov model."""

    name: ClassVar[str] = "hmm"


@dataclass
class CountingState:
    """``passes`` made, of which only the first counts; ``loss`` of the model, once computed."""

    passes: int = 0
    loss: float | None = None

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class Counting(Learner):
    """``hmm`` (sequences with label bigrams) or ``naive-bayes`` (single choices) on a problem that
    has a design matrix.

    Raises:
        ConfigError: a problem of another structure, or no attribute that all choices have.
        EgparseError: attributes with negative values.
    """

    config_type: type[CountingConfig] = CountingConfig

    def __init__(self, problem: Problem, config: CountingConfig) -> None:
        super().__init__(problem)
        self.name, self.config = config.name, config
        name = self.name
        self._design = require_design(name, problem, sequences=name == "hmm")
        if self._design.values.min(initial=0.0) < 0:
            raise EgparseError(
                f"{name}: expected attribute values of at least 0, got "
                f"{self._design.values.min():g}"
            )
        self._common = common_attribute(name, self._design)

    def initialise(self, gold_theta: float | Floats = 3.0) -> CountingState:
        """v = 0; ``gold_theta`` is ignored."""
        self.problem.reset()
        return CountingState()

    def iterate(self, state: CountingState) -> None:
        """Count; passes after the first change nothing."""
        if not state.passes:
            design, config = self._design, self.config
            bigrams = None
            if design.bigrams is not None:
                bigrams = bigram_weights(design, design.bigrams, config.transition_smoothing)
            self.problem.set_weights(pair_weights(design, self._common, config.smoothing), bigrams)
            state.loss = None
        state.passes += 1

    def certificate(self, state: CountingState) -> Certificate:
        """-sum_i log P(y_i | x_i) in nats, without regularisation; there is no dual, since counting
        maximises the joint likelihood instead.
        """
        if state.loss is None:
            problem, loss = self.problem, 0.0
            room = np.empty(int(np.diff(problem.part_starts).max(initial=0)))
            for i in range(len(problem.part_starts) - 1):
                scores = problem.scores(i)
                loss += LOG_LINEAR.value(problem, i, scores, room[: len(scores)])
            if not math.isfinite(loss):
                raise EgparseError(f"{self.name}: expected a finite loss, got {loss}")
            state.loss = loss
        return Certificate(state.loss, -math.inf, float(min(1, state.passes)), 0.0)

    def model_weights(self, state: CountingState) -> AbstractContextManager[None]:
        """Nothing to do: v is the model."""
        return nullcontext()


def require_design(learner: str, problem: Problem, *, sequences: bool) -> DesignMatrix:
    """The design matrix of a problem, for a learner of sequences or of single choices.

    Raises:
        ConfigError: a problem that has no design matrix, or one of another structure.
    """
    fits = "sequences of labels" if sequences else "choices made one by one (multiclass problems)"
    if not problem.offers("design"):
        raise ConfigError(
            f"{learner} fits {fits}; it needs the weight of every attribute and label, and "
            f"{type(problem).__name__} has no design matrix"
        )
    design = problem.design()
    if not sequences and design.bigrams is not None:
        raise ConfigError(
            f"{learner} fits {fits}; this problem has weights of label bigrams (set bigrams = "
            "false to do without)"
        )
    if sequences and design.bigrams is None:
        raise ConfigError(
            f"{learner} fits {fits}; this problem has no weights of label bigrams (set bigrams = "
            "true, or use naive-bayes, which counts without)"
        )
    return design


def common_attribute(name: str, design: DesignMatrix) -> int:
    """The first attribute that all choices have, with one value and a weight for every label that
    occurs.

    Raises:
        ConfigError: there is none.
    """
    n, size = len(design.labels), design.attribute_count
    values = design.values[design.values != 0]
    attributes = design.attributes[design.values != 0]
    highest, lowest = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(highest, attributes, values)
    np.minimum.at(lowest, attributes, values)
    occurring = np.zeros(design.label_count, dtype=bool)
    occurring[design.labels] = True
    known = np.bincount(design.pair_attributes()[occurring[design.pair_labels]], minlength=size)
    everywhere = (np.bincount(attributes, minlength=size) == n) & (highest == lowest)
    found = np.flatnonzero(everywhere & (known == occurring.sum()))
    if not len(found):
        raise ConfigError(
            f"{name}: expected an attribute that all examples have, such as the template 'bias' or "
            "a component that is always 1, for the weights of the labels themselves; got none"
        )
    return int(found[0])


def pair_weights(design: DesignMatrix, common: int, smoothing: float) -> Floats:
    """(pairs,): the weights of the pairs of the design; see the module."""
    attributes = design.pair_attributes()
    counts, examples = pair_counts(design), label_counts(design)
    if design.groups is None:
        weights, offsets = _multinomial(design, common, counts, smoothing)
    else:
        weights, offsets = _draws(design, common, counts, examples, smoothing)
    if design.bigrams is None:
        offsets += np.log((examples + smoothing) / (examples.sum() + smoothing * len(examples)))
    offsets -= offsets[examples > 0].mean()
    height = design.values[design.attributes == common][0]
    return np.where(attributes == common, offsets[design.pair_labels] / height, weights)


def pair_counts(design: DesignMatrix) -> Floats:
    """(pairs,): how often attribute and label of each pair occur together, summed values."""
    count = design.label_count
    choice = np.repeat(np.arange(len(design.labels)), np.diff(design.row_starts))
    seen, place = np.unique(design.attributes * count + design.labels[choice], return_inverse=True)
    totals = np.bincount(place, weights=design.values, minlength=len(seen))
    wanted = design.pair_attributes() * count + design.pair_labels
    found = np.minimum(np.searchsorted(seen, wanted), max(0, len(seen) - 1))
    return np.where(seen[found] == wanted, totals[found], 0.0)


def label_counts(design: DesignMatrix) -> Floats:
    """(L,): how many choices have each label."""
    return np.bincount(design.labels, minlength=design.label_count).astype(np.float64)


def bigram_weights(design: DesignMatrix, bigrams: Mask, smoothing: float) -> Floats:
    """(L, L): log P(next | previous) less the mean over the bigrams without a weight, which get 0
    themselves.
    """
    labels, count = design.labels, design.label_count
    inside = np.ones(len(labels), dtype=bool)
    inside[design.sequence_starts[:-1][np.diff(design.sequence_starts) > 0]] = False
    later = np.flatnonzero(inside)
    cells = np.bincount(labels[later - 1] * count + labels[later], minlength=count * count)
    counts = cells.reshape(count, count).astype(np.float64)
    logarithms = np.log(
        (counts + smoothing) / (counts.sum(axis=1, keepdims=True) + smoothing * count)
    )
    shared = float(logarithms[~bigrams].mean()) if not bigrams.all() else 0.0
    return np.where(bigrams, logarithms - shared, 0.0)


def _multinomial(
    design: DesignMatrix, common: int, counts: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """log P(a | y) of all attributes except the common one, and zeros for the labels."""
    others = design.pair_attributes() != common
    totals = np.bincount(
        design.pair_labels[others], weights=counts[others], minlength=design.label_count
    ) + smoothing * (design.attribute_count - 1)
    return np.log((counts + smoothing) / totals[design.pair_labels]), np.zeros(design.label_count)


def _draws(
    design: DesignMatrix, common: int, counts: Floats, examples: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """The weights log P(a | y) - log P(none | y) of the pairs, and for each label the sum over
    groups of log P(none | y).
    """
    assert design.groups is not None
    groups, n_groups = design.groups, int(design.groups.max(initial=0)) + 1
    choice = np.repeat(np.arange(len(design.labels)), np.diff(design.row_starts))
    drawn = np.zeros((n_groups, design.label_count))
    np.add.at(drawn, (groups[design.attributes], design.labels[choice]), 1.0)
    none = examples - drawn + smoothing  # (groups, L): c_0y + lambda
    outcomes = np.bincount(groups, minlength=n_groups) + 1.0
    used = np.bincount(groups, minlength=n_groups) > 0
    used[groups[common]] = False  # an attribute that all choices have is no draw
    offsets = (np.log(none) - np.log(examples + smoothing * outcomes[:, None]))[used].sum(axis=0)
    unseen = math.log(smoothing) - np.log(none)
    attributes = design.pair_attributes()
    weights = np.log(counts + smoothing) - np.log(none[groups[attributes], design.pair_labels])
    return weights - _shared(design, attributes, unseen)[attributes], offsets


def _shared(design: DesignMatrix, attributes: Longs, unseen: Floats) -> Floats:
    """(A,): the mean weight of the labels for which the attribute has none; 0 if it has all."""
    assert design.groups is not None
    size = design.attribute_count
    groups = design.groups
    have = np.bincount(
        attributes, weights=unseen[groups[attributes], design.pair_labels], minlength=size
    )
    missing = design.label_count - np.diff(design.pair_starts)
    rest = unseen.sum(axis=1)[groups] - have
    shared: Floats = np.divide(rest, missing, out=np.zeros(size), where=missing > 0)
    return shared


class NaiveBayes(Counting):
    """Naive Bayes."""


class HMM(Counting):
    """The hidden Markov model."""

    config_type = HMMConfig
