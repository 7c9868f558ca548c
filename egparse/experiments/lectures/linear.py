"""All linear learners of the lectures on digits, tags and trees: score and objective over passes,
and the training error that they end with (McDonald 2009, "Perceptron", "Maximizing Margin",
"Logistic Regression", "Structured Learning").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from egparse.experiments.comparisons.comparison import SGD, Contender, Plan, compare
from egparse.experiments.data.problems import Setup, classifier, parser
from egparse.experiments.data.samples import SPANISH_TREES, UD_ENGLISH, Sample, sample
from egparse.experiments.lectures.tasks import Digits, Tags, accuracy, read_vectors, tags
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.sequences.task import GOLD_THETA
from egparse.types import Floats, Ints, Longs

NAME = "lectures"

PERCEPTRON, AVERAGED = "perceptron", "perceptron, averaged"
MIRA_1, MIRA_5, MIRA_ALL = "MIRA, 1 best", "MIRA, 5 best", "MIRA, all constraints"
SVM_EG, SVM_PLANES = "SVM, EG", "SVM, cutting plane"
ASCENT, SPECTRAL, EG, STOCHASTIC = "gradient ascent", "spectral gradient", "EG", SGD.label

TRAINING_ERROR = "training error (%)"

SLACK, NO_SLACK = 10.0, 0.01
"""C where the objective has one, and where MIRA has no slack to speak of, as in the lectures: its
multipliers are at most 1 / C = 100, and steps are seldom longer than 1.
"""

_FREE = (math.inf, 0.0)  # that of the perceptron
_LOG, _MARGIN = (1.0, 0.0), (math.inf, 1.0)
_DIGITS, _QUICK_DIGITS = (4000, 1500, 1500), (200, 100, 100)
_TAGS, _QUICK_TAGS = 1500, (80, 40)
_TREES, _QUICK_TREES = (300, 300), (40, 20)
_BITS, _QUICK_BITS = 18, 14
_PASSES, _QUICK_PASSES = 10, 2
_SLOW_PASSES = 4  # times as many for batch learners and EG, whose passes are cheap
_SECONDS, _QUICK_SECONDS = 12.0, 0.5  # of each curve


class Fit(NamedTuple):
    """How well the training part is learned."""

    training_error: float


def contenders(kinds: int) -> tuple[Contender, ...]:
    """All learners; ``kinds`` is how many structures an example has if they can be counted, else
    0.
    """
    once = (SLACK,)
    both = (SLACK, NO_SLACK)
    return (
        _one(PERCEPTRON, "perceptron", {"averaged": False}, _FREE, once),
        _one(AVERAGED, "perceptron", {}, _FREE, once),
        _one(MIRA_1, "mira", {"k": 1}, _MARGIN, both),
        _one(MIRA_5, "mira", {"k": 5}, _MARGIN, both),
        *((_one(MIRA_ALL, "mira", {"k": kinds}, _MARGIN, both),) if kinds else ()),
        _one(SVM_EG, "eg-online", {"calibrate": 0.1}, _MARGIN, once),
        _one(SVM_PLANES, "cutting-plane", {}, _MARGIN, once, random=False),
        _one(ASCENT, "parallel-gradient", {**_ALONE, "spectral": False}, _LOG, once, random=False),
        _one(SPECTRAL, "parallel-gradient", _ALONE, _LOG, once, random=False),
        SGD._replace(loss=_LOG, only=once),
        _one(EG, "eg-online", {}, _LOG, once),
    )


_ALONE: Mapping[str, Any] = MappingProxyType({"shards": 1, "processes": False})


def _one(
    label: str,
    learner: str,
    options: Mapping[str, Any],
    loss: tuple[float, float],
    only: tuple[float, ...],
    *,
    random: bool = True,
) -> Contender:
    return Contender(label, learner, options, only=only, loss=loss, random=random)


def compare_linear(request: Request) -> dict[str, Comparison]:
    """Digits, tags and trees."""
    budget = Budget(
        request.budget(_PASSES, _QUICK_PASSES), request.seconds_of(_SECONDS, _QUICK_SECONDS), 1e-5
    )
    found = {}
    for name, make, seeds in (
        ("digits", digits_setup, 3),
        ("tags", tags_setup, 3),
        ("trees", trees_setup, 2),
    ):
        setup = make(request)
        sizes = np.diff(setup.problem.part_starts)
        kinds = int(sizes[0]) if name == "digits" else 0
        plan = Plan(
            NAME,
            with_training_error(setup),
            _with_budgets(contenders(kinds), budget),
            (SLACK, NO_SLACK),
            budget,
            risks=True,
            seeds=request.seeds_of(seeds),
        )
        found[name] = compare(plan, request)
    return found


def _with_budgets(all_of_them: Sequence[Contender], budget: Budget) -> list[Contender]:
    """More passes for the learners that come to an optimum."""
    longer = budget._replace(effective_iterations=_SLOW_PASSES * budget.effective_iterations)
    slow = (SVM_EG, SVM_PLANES, ASCENT, SPECTRAL, EG)
    return [own._replace(budget=longer) if own.label in slow else own for own in all_of_them]


def with_training_error(setup: Setup) -> Setup:
    """The same, whose runs end by counting the training examples with any mistake."""
    problem = setup.problem
    best = np.empty(int(np.diff(problem.part_starts).max()))

    def measured(scale: float) -> Fit:
        wrong = 0
        for i in range(setup.n):
            scores = problem.scores(i)
            predicted = best[: len(scores)]
            problem.argmax(i, scores, predicted)
            wrong += bool((problem.gold(i) != predicted).any())
        return Fit(100.0 * wrong / setup.n)

    return setup._replace(risks=cast(Any, measured))


def digits_setup(request: Request) -> Setup:
    """Digits in three parts."""
    found = read_vectors(request, _QUICK_DIGITS if request.quick else _DIGITS)
    return vectors_setup(found)


def vectors_setup(found: Digits) -> Setup:
    """A classifier of vectors, with a test part."""
    setup = classifier(found.data, found.train, found.dev)
    problem: Any = setup.problem

    def counts(part: tuple[Floats, Ints]) -> Longs:
        right = (problem.predict(part[0]) == part[1]).astype(np.int64)
        return np.stack([right, np.ones_like(right), np.ones_like(right)], axis=1)

    return setup._replace(
        name="digits",
        score=lambda scale: accuracy(counts(found.dev)[:, :2]),
        score_name="validation accuracy (%)",
        sign=1,
        test=lambda scale: accuracy(counts(found.test)[:, :2]),
        outcomes=lambda scale: counts(found.test),
        facts={**setup.facts, "test examples": len(found.test[0])},
    )


def english(request: Request) -> Sample:
    """English sentences with tags."""
    return sample(request, UD_ENGLISH, _QUICK_TAGS)


def tags_setup(request: Request) -> Setup:
    """A tagger of the first sentences of English."""
    found = english(request)
    return sequences_setup(tags(found._replace(train=found.train[:_TAGS])))


def sequences_setup(found: Tags) -> Setup:
    """A tagger, with a test part."""
    kinds = float(found.facts["labels"])

    def outcomes(scale: float) -> Longs:
        counts = found.test(scale)
        return np.concatenate([counts, counts[:, 1:]], axis=1)

    return Setup(
        "tags",
        found.problem,
        found.accuracy,
        "validation accuracy (% of words)",
        1,
        GOLD_THETA + math.log(kinds),
        found.facts,
        lambda scale: accuracy(found.test(scale)),
        outcomes=outcomes,
    )


def trees_setup(request: Request) -> Setup:
    """A projective parser of the first Spanish sentences, validated on others."""
    found = sample(request, SPANISH_TREES, _QUICK_TREES)
    part = found._replace(train=found.train[: _TREES[0]], dev=found.dev[: _TREES[1]], test=())
    bits = _QUICK_BITS if request.quick else _BITS
    return parser(part, trees="projective", bits=bits)._replace(name="trees")
