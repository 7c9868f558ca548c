"""Generative against discriminative models with the same features, over growing training sets: the
hidden Markov model against the CRF, naive Bayes against maximum entropy (McDonald 2009, "Aside:
Discriminative versus Generative", "Hidden Markov Models").

Training sets are drawn at random, the smaller ones from the larger ones, with several seeds. Each
model chooses one number on the validation part, for each size with the first seed: the smoothing
of counts, or C. What is reported is the accuracy on the test part, with paired tests over the sum
of the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.evaluation.significance import paired_differences
from egparse.experiments.classification import ClassifierProblem
from egparse.experiments.data.samples import Sample
from egparse.experiments.lectures.tasks import (
    ALL_TEMPLATES,
    WORD_ALONE,
    Digits,
    accuracy,
    subset,
    tags,
)
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import build
from egparse.types import Floats, Ints, Longs

HMM, CRF = "HMM, word alone", "CRF, word alone"
HMM_ALL, CRF_ALL = "HMM, all features", "CRF, all features"
NAIVE_BAYES, MAXENT = "naive Bayes, all features", "maximum entropy, all features"
NAIVE_BAYES_DIGITS, MAXENT_DIGITS = "naive Bayes, digits", "maximum entropy, digits"

PAIRS = (
    (HMM, CRF),
    (HMM_ALL, CRF_ALL),
    (NAIVE_BAYES, MAXENT),
    (NAIVE_BAYES_DIGITS, MAXENT_DIGITS),
    (MAXENT, CRF_ALL),
)
"""What is compared: generative and discriminative, and without and with label bigrams."""

_SMOOTHING = (0.001, 0.01, 0.1, 1.0)
_C = (0.01, 0.1, 1.0, 10.0)
_PASSES = 30
_GAP = 1e-3


class Held(NamedTuple):
    """A problem of one size and seed. ``dev`` and ``test`` are functions of the scale: how many are
    right, of how many, (units, 2).
    """

    problem: Problem
    dev: Callable[[float], Longs]
    test: Callable[[float], Longs]
    gold_theta: float


class Model(NamedTuple):
    """A learner on problems by size and seed; ``values`` are candidates for its one number."""

    learner: str
    make: Callable[[int, int], Held]
    values: Sequence[float]


def measure_generative(
    words: Sample, digits: Digits, sizes: Mapping[str, Sequence[int]], seeds: Sequence[int]
) -> dict[str, Any]:
    """Learning curves of all models, and the paired tests of ``PAIRS`` at each size. ``sizes`` are
    numbers of sentences (``tags``) and of vectors (``digits``).
    """
    curves: dict[str, Any] = {}
    counts: dict[tuple[str, int], Longs] = {}
    for name, model in _models(words, digits).items():
        own = list(sizes["digits" if "digits" in name else "tags"])
        rows, chosen = [], []
        for n in own:
            value = best_value(model, n, seeds[0])
            found = [_tested(model, n, seed, value) for seed in seeds]
            counts[name, n] = np.sum(found, axis=0)
            rows.append([round(accuracy(each), 4) for each in found])
            chosen.append(value)
        curves[name] = {"sizes": own, "accuracy": rows, "chosen": chosen}
    tests = []
    for first, second in PAIRS:
        for n in curves[first]["sizes"]:
            one, other = counts[first, n], counts[second, n]
            paired = paired_differences({"": _as_counts(other)}, {"": _as_counts(one)})[""]
            tests.append([first, second, n, round(paired.difference, 4), paired.p_value])
    return {"curves": curves, "tests": tests}


def best_value(model: Model, n: int, seed: int) -> float:
    """The value with the best accuracy on the validation part."""
    held = model.make(n, seed)

    def merit(value: float) -> float:
        return accuracy(_counts(model, held, value, seed, held.dev))

    return max(model.values, key=merit)


def _tested(model: Model, n: int, seed: int, value: float) -> Longs:
    held = model.make(n, seed)
    return _counts(model, held, value, seed, held.test)


def _counts(
    model: Model, held: Held, value: float, seed: int, part: Callable[[float], Longs]
) -> Longs:
    """Train, and count on a part."""
    counts = model.learner in ("hmm", "naive-bayes")
    config = LearnerConfig(seed=seed) if counts else LearnerConfig(c=value, seed=seed)
    options = {"smoothing": value} if counts else {}
    learner = build(model.learner, held.problem, config, **options)
    state = learner.initialise(held.gold_theta)
    for _ in range(1 if counts else _PASSES):
        learner.iterate(state)
        if not counts and learner.certificate(state).relative_gap <= _GAP:
            break
    with learner.model_weights(state):
        return part(state.scale)


def _models(words: Sample, digits: Digits) -> dict[str, Model]:
    def sequences(templates: Sequence[str], bigrams: bool) -> Callable[[int, int], Held]:
        def make(n: int, seed: int) -> Held:
            found = tags(subset(words, n, seed), templates=templates, bigrams=bigrams)
            return Held(found.problem, found.correct, found.test, 10.0)

        return make

    alone, rich = sequences(WORD_ALONE, True), sequences(ALL_TEMPLATES, True)
    unchained = sequences(ALL_TEMPLATES, False)

    def vectors(n: int, seed: int) -> Held:
        return held_vectors(digits, n, seed)

    return {
        HMM: Model("hmm", alone, _SMOOTHING),
        CRF: Model("eg-online", alone, _C),
        HMM_ALL: Model("hmm", rich, _SMOOTHING),
        CRF_ALL: Model("eg-online", rich, _C),
        NAIVE_BAYES: Model("naive-bayes", unchained, _SMOOTHING),
        MAXENT: Model("eg-online", unchained, _C),
        NAIVE_BAYES_DIGITS: Model("naive-bayes", vectors, _SMOOTHING),
        MAXENT_DIGITS: Model("eg-online", vectors, _C),
    }


def held_vectors(digits: Digits, n: int, seed: int) -> Held:
    """``n`` of the training vectors, drawn at random. Naive Bayes takes components as counts, so
    they are made not to be negative.
    """
    x, y = digits.train
    order = np.random.default_rng(seed).permutation(len(x))[:n]
    n_classes = int(max(part[1].max() for part in (digits.train, digits.dev, digits.test))) + 1
    problem = ClassifierProblem(np.maximum(x[order], 0.0), y[order], n_classes)

    def counter(part: tuple[Floats, Ints]) -> Callable[[float], Longs]:
        def count(scale: float) -> Longs:
            right = (problem.predict(np.maximum(part[0], 0.0)) == part[1]).astype(np.int64)
            return np.stack([right, np.ones_like(right)], axis=1)

        return count

    return Held(problem, counter(digits.dev), counter(digits.test), 5.0)


def _as_counts(found: Longs) -> Longs:
    """(units, 3): correct, gold, system."""
    return np.concatenate([found, found[:, 1:]], axis=1)
