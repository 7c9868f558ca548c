"""Linear classifiers of digits, taggers of names and parsers, by the learners of the lectures
(McDonald 2009, "Generalized Linear Classifiers in NLP"), which have no data of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from egparse.experiments.plans.contenders import CG, LBFGS, SGD
from egparse.experiments.problems import samples
from egparse.experiments.problems.digits import IMAGES, LABELS, classifier, digits_or_points
from egparse.experiments.problems.names import entities
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import HINGE, Budget, Contender, Experiment, Plan

NO_SLACK = 0.1
"""A C at which multipliers, of up to 10, are as good as not bounded: the margin is hard."""

SIZES = (50, 100, 200, 400)
"""Digits of the separable problems."""

_PERCEPTRON = Contender(
    "perceptron", "perceptron", {"averaged": False}, only=(NO_SLACK,), loss=(math.inf, 0.0)
)
_MIRA = Contender("MIRA", "mira", {"k": 10}, only=(NO_SLACK,), loss=HINGE)
"""The constraints of all ten digits, or of the ten best structures."""

_SVM = Contender("SVM", "n-slack", {"epsilon": 1e-5}, loss=HINGE)
_SDCA = Contender("SVM", "sdca", loss=HINGE)
"""The learners that come to a gap of 1 % soonest where examples have few structures, and many."""

_TO_THE_END = Budget(500, 60.0, gap=1e-4, spacing=1.1)
_OF_SVM = _TO_THE_END._replace(gap=1e-2)


def _digits(n: int, request: Request, seed: int) -> Setup:
    """``n`` digits drawn by the seed, and 3,000 others for validation; the last component is 1, for
    the bias.
    """
    n_train, n_dev = (min(n, 300), 150) if request.quick else (n, 3000)
    name, x, y = digits_or_points(request, n_train + n_dev, seed)
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    order = np.random.default_rng(seed).permutation(len(x))
    train, dev = order[:n_train], order[n_train : n_train + n_dev]
    setup = classifier(name, (x[train], y[train]), (x[dev], y[dev]))
    return setup._replace(figures=lambda scale: _of_digits(setup.problem, x[train], y[train]))


def _of_digits(problem: Any, x: Any, y: Any) -> Mapping[str, float]:
    """The margin, the least difference of the scores of the correct and the best other class for
    |w| = 1, and the bound that follows: a label in place of another moves the vector from one block
    of features to another, so that R² is twice the greatest squared length.
    """
    scores, rows = x @ problem.weights.T, np.arange(len(y))
    correct = scores[rows, y]
    scores[rows, y] = -np.inf
    least = float((correct - scores.max(axis=1)).min() / np.linalg.norm(problem.weights))
    margin, widest = max(0.0, least), 2.0 * float((x**2).sum(axis=1).max())
    bound = widest / (margin**2 * len(y)) if margin else math.inf
    return {"margin": margin, "R² / γ² n": bound}


def _names(bigrams: bool, request: Request, seed: int) -> Setup:
    part = samples.sample(request, samples.SPANISH_NAMES, (80, 40))
    return entities(part._replace(train=part.train[:2000], dev=part.dev[:500]), bigrams=bigrams)


def _trees(request: Request, seed: int) -> Setup:
    part = samples.spanish_trees(request, (60, 30))
    fifth = len(part.dev) // 5
    part = part._replace(train=part.train[:400], dev=part.dev[:fifth], test=part.dev[fifth:])
    return parser(part, trees="projective", bits=14 if request.quick else 18)


def _with_training_error(setup: Setup) -> Setup:
    """The same, of whose last model the share of training examples with any mistake is measured."""
    problem, before = setup.problem, setup.figures

    def mistaken(i: int) -> bool:
        scores = problem.scores(i)
        predicted = np.empty(len(scores))
        problem.argmax(i, scores, predicted)
        return bool((problem.gold(i) != predicted).any())

    def figures(scale: float) -> Mapping[str, float]:
        wrong = 100.0 * sum(map(mistaken, range(setup.n))) / setup.n
        return {**(before(scale) if before else {}), "training error": wrong}

    return setup._replace(figures=figures)


def _compared(
    problem: Callable[[Request, int], Setup],
    svm: Contender,
    of_svm: Sequence[float],
    constants: Sequence[float],
) -> Plan:
    """Online learners make some passes, the others go to the optimum; ``of_svm`` are the values of
    C of the SVM, and ``constants`` those of log-linear models.
    """
    contenders = (
        Contender("log-linear", "eg-online", only=constants),
        *(one._replace(only=constants[-1:]) for one in (LBFGS, CG, SGD)),
        svm._replace(only=of_svm, budget=_OF_SVM),
        *(one._replace(budget=Budget(15)) for one in (_MIRA, _PERCEPTRON)),
    )
    return Plan(
        lambda request, seed: _with_training_error(problem(request, seed)),
        contenders,
        (*dict.fromkeys((*of_svm, *constants)), NO_SLACK),
        _TO_THE_END,
    )


def printed_example(request: Request) -> Mapping[str, Any]:
    """The log-likelihoods and errors that the slides print of two weight vectors on 1,001 points:
    "Aside: Min error versus max log-likelihood".
    """
    x = np.concatenate([np.tile([-1.0, 1.0], (1000, 1)), [[3.0, 1.0]]])
    y = np.append(np.zeros(1000, dtype=np.int32), 1)
    found = {}
    for w in ((-1, 0, 1, 0), (-1, 7, 1, 0)):
        scores = x @ np.array(w, dtype=float).reshape(2, 2).T
        likelihoods = scores[np.arange(len(y)), y] - np.logaddexp(*scores.T)
        errors = int((scores.argmax(axis=1) != y).sum())
        found[str(w)] = {"log-likelihood": float(likelihoods.sum()), "errors": errors}
    return found


_SEPARABLE = {
    f"{n} digits": Plan(
        partial(_digits, n),
        (_SVM, _MIRA, _PERCEPTRON),
        (100.0, NO_SLACK),
        _OF_SVM._replace(passes=200),
        seeds=3,
        split_by_seed=True,
    )
    for n in SIZES
}
_TAGGER, _OF_WORDS = (
    _compared(partial(_names, bigrams), _SDCA, (100.0, 10.0), (10.0, 1.0))
    for bigrams in (True, False)
)
_ASKED = [one for one in _OF_WORDS.contenders if one.label in ("log-linear", "SVM", "perceptron")]

EXPERIMENT = Experiment(
    _SEPARABLE
    | {
        "digits": _compared(partial(_digits, 4000), _SVM, (100.0, 10.0), (100.0, 10.0)),
        "names": _TAGGER,
        "words alone": _OF_WORDS._replace(contenders=_ASKED),
        "trees": _compared(_trees, _SDCA, (100.0,), (100.0, 10.0)),
    },
    {"1,001 points": printed_example},
    needs=(IMAGES, LABELS, *samples.files_of(samples.SPANISH_NAMES), *samples.SPANISH_FILES),
)
