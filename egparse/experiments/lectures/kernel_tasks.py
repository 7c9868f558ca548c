"""The kernel perceptron on digits, words and trees, and what the lectures state of kernels
(McDonald 2009, "Kernels" to "Popular Kernels").
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from egparse.experiments.classification import ClassifierProblem
from egparse.experiments.comparisons.comparison import Contender, Plan, compare
from egparse.experiments.data.problems import Setup
from egparse.experiments.kernels.functions import Gaussian, Kernel, Linear, Polynomial
from egparse.experiments.kernels.objects import ObjectProblem, as_array
from egparse.experiments.kernels.perceptron import Training
from egparse.experiments.kernels.strings import Subsequence
from egparse.experiments.kernels.trees import Fragments
from egparse.experiments.lectures.linear import NAME, vectors_setup
from egparse.experiments.lectures.tasks import (
    Objects,
    accuracy,
    read_vectors,
    trees_of_languages,
    words_of_languages,
)
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.types import Floats, Longs

LINEAR, SQUARE, CUBE, GAUSSIAN = "linear", "polynomial, d = 2", "polynomial, d = 3", "Gaussian"
VOTED = "polynomial, d = 2, voted"
LETTERS, PAIRS, TRIPLES = "letters", "subsequences of 2", "subsequences of 3"
PRODUCTIONS, FRAGMENTS = "productions", "tree fragments, decay 0.4"
SMALL_FRAGMENTS = "tree fragments, decay 0.1"

_FREE = (math.inf, 0.0)
_C = 1.0  # the perceptron has none
_DIGITS, _QUICK_DIGITS = (2500, 1000, 1500), (150, 60, 60)
_WORDS, _TREES, _QUICK_OBJECTS = (500, 250), (400, 200), (40, 20)  # of each class
_PASSES, _QUICK_PASSES = 5, 2
_SAMPLE = 200  # objects whose Gram matrix is decomposed
_SMALL = 1e-6  # the decay that leaves single productions


def compare_kernels(request: Request) -> dict[str, Comparison]:
    """Kernels of vectors, of strings and of trees, each beside its linear one."""
    digits = vectors_setup(read_vectors(request, _QUICK_DIGITS if request.quick else _DIGITS))
    words, trees = (_QUICK_OBJECTS, _QUICK_OBJECTS) if request.quick else (_WORDS, _TREES)
    tasks: dict[str, tuple[Setup, tuple[Contender, ...]]] = {
        "kernels of digits": (
            digits,
            (
                _one(LINEAR, kernel="linear"),
                _one(SQUARE, kernel="polynomial", degree=2),
                _one(CUBE, kernel="polynomial", degree=3),
                _one(GAUSSIAN, kernel="gaussian", sigma2=25.0),
                _one(VOTED, kernel="polynomial", degree=2, rule="voted"),
            ),
        ),
        "kernels of words": (
            objects_setup(words_of_languages(request, *words)),
            (
                _one(LETTERS, kernel="subsequences", length=1),
                _one(PAIRS, kernel="subsequences", length=2),
                _one(TRIPLES, kernel="subsequences", length=3),
            ),
        ),
        "kernels of trees": (
            objects_setup(trees_of_languages(request, *trees)),
            (
                _one(PRODUCTIONS, kernel="fragments", decay=_SMALL),
                _one(SMALL_FRAGMENTS, kernel="fragments", decay=0.1),
                _one(FRAGMENTS, kernel="fragments", decay=0.4),
            ),
        ),
    }
    budget = Budget(min(_PASSES, request.budget(_PASSES, _QUICK_PASSES)))
    seeds = request.seeds_of(3)
    return {
        name: compare(
            Plan(NAME, setup._replace(name=name), own, (_C,), budget, _FREE, seeds=seeds), request
        )
        for name, (setup, own) in tasks.items()
    }


def _one(label: str, **options: Any) -> Contender:
    return Contender(label, "kernel-perceptron", options)


def objects_setup(found: Objects) -> Setup:
    """A classifier of strings or trees; the validation part is all that it is rated on."""
    problem = ObjectProblem(found.kind, *found.train, len(found.classes))
    objects, y = as_array(found.dev[0]), found.dev[1]

    def counts() -> Longs:
        right = (problem.predict(objects) == y).astype(np.int64)
        return np.stack([right, np.ones_like(right), np.ones_like(right)], axis=1)

    facts = {
        "data": found.data,
        "training examples": len(found.train[1]),
        "validation examples": len(y),
        "classes": ", ".join(found.classes),
    }
    return Setup(
        found.kind,
        problem,
        lambda scale: accuracy(counts()[:, :2]),
        "validation accuracy (%)",
        1,
        0.0,
        facts,
        outcomes=lambda scale: counts(),
    )


def measure_kernels(request: Request) -> dict[str, Any]:
    """Gram matrices, a perceptron in the dual and in the primal, and the cost of a value."""
    each = _QUICK_OBJECTS if request.quick else (_SAMPLE, 1)
    words = words_of_languages(request, *each).train[0][:_SAMPLE]
    trees = trees_of_languages(request, *each).train[0][:_SAMPLE]
    vectors = read_vectors(request, (_SAMPLE, 1, 1)).train[0]
    return {
        "Gram matrices": {
            name: _gram(kernel, objects)
            for name, kernel, objects in (
                (LINEAR, Linear(), vectors),
                (SQUARE, Polynomial(degree=2), vectors),
                (CUBE, Polynomial(degree=3), vectors),
                (GAUSSIAN, Gaussian(sigma2=25.0), vectors),
                (LETTERS, Subsequence(length=1), words),
                (TRIPLES, Subsequence(length=3), words),
                (FRAGMENTS, Fragments(decay=0.4), trees),
            )
        },
        "dual and primal": _in_both(request.seed),
        "circle": _circle(request.seed),
        "cost": _cost(request.seed),
    }


def _gram(kernel: Kernel, objects: Any) -> dict[str, float]:
    """The least eigenvalue of the Gram matrix, relative to the greatest, and how far the matrix is
    from symmetric.
    """
    gram = kernel.matrix(objects, objects)
    values = np.linalg.eigvalsh(gram)
    return {
        "least eigenvalue": float(values[0] / values[-1]),
        "asymmetry": float(np.abs(gram - gram.T).max() / np.abs(gram).max()),
    }


def squares(x: Floats) -> Floats:
    """The features of (a . b + 1)^2 for vectors of any size."""
    j, k = np.triu_indices(x.shape[1], 1)
    root = math.sqrt(2.0)
    return np.concatenate([np.ones((len(x), 1)), root * x, x**2, root * x[:, j] * x[:, k]], axis=1)


def _in_both(seed: int) -> dict[str, float]:
    """A perceptron with the quadratic kernel, and one with weights on its features: mistakes of
    five passes, and how many of 500 new points they classify alike.
    """
    random = np.random.default_rng(seed)
    x, new = random.normal(size=(300, 10)), random.normal(size=(500, 10))
    y = (np.abs(x[:, 0]) + x[:, 1] * x[:, 2] > 0.8).astype(np.int64)
    dual = Training(Polynomial(degree=2), x, y, n_classes=2)
    features = squares(x)
    primal = ClassifierProblem(features, y, 2)
    best = np.empty(2)
    mistakes = 0
    for _ in range(5):
        dual.make_pass()
        for i in range(len(x)):
            primal.argmax(i, primal.scores(i), best)
            changes = primal.gold(i) - best
            mistakes += bool(changes.any())
            primal.add(i, changes)
    model = dual.model()
    alike = model.scores(new, "last").argmax(axis=1) == primal.predict(squares(new))
    return {
        "mistakes in the dual": float(sum(model.mistakes_by_pass)),
        "mistakes in the primal": float(mistakes),
        "predicted alike": float(alike.sum()),
        "new points": float(len(new)),
        "components": float(x.shape[1]),
        "features": float(features.shape[1]),
    }


def _circle(seed: int) -> dict[str, float]:
    """Mistakes in the last of 50 passes over a class inside a circle and one outside: in the plane,
    on (x_1^2, sqrt 2 x_1 x_2, x_2^2), and with the kernel (a . b)^2 in the plane.
    """
    random = np.random.default_rng(seed)
    angle, y = random.uniform(0, 2 * math.pi, size=200), np.arange(200) % 2
    radius = np.where(y == 1, 2.0, 1.0) + random.uniform(-0.3, 0.3, size=200)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    mapped = np.stack([x[:, 0] ** 2, math.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1)
    with_bias = [np.concatenate([own, np.ones((200, 1))], axis=1) for own in (x, mapped)]
    square = Polynomial(degree=2, constant=0.0)
    return {
        "in the plane": _last_mistakes(Linear(), with_bias[0], y),
        "in three dimensions": _last_mistakes(Linear(), with_bias[1], y),
        "with the kernel": _last_mistakes(Polynomial(degree=2), x, y),
        "map against kernel": float(np.abs(square.matrix(x, x) - mapped @ mapped.T).max()),
    }


def _last_mistakes(kernel: Kernel, x: Floats, y: Any) -> float:
    training = Training(kernel, x, y, n_classes=2)
    return float([training.make_pass() for _ in range(50)][-1])


def _cost(seed: int) -> list[list[float]]:
    """For each degree: the features behind the kernel of 50 components, the CPU seconds of a
    million values of the kernel, and for degree 2 those of as many products of the features.
    """
    x = np.random.default_rng(seed).normal(size=(1000, 50))
    features = squares(x)
    explicit = _seconds(Linear(), features)
    return [
        [
            float(degree),
            float(math.comb(50 + degree, degree)),
            _seconds(Polynomial(degree=degree), x),
            explicit if degree == 2 else math.nan,
        ]
        for degree in (2, 3, 4, 5)
    ]


def _seconds(kernel: Kernel, x: Floats) -> float:
    """The least CPU seconds of three matrices."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        kernel.matrix(x, x)
        found.append(time.process_time() - begun)
    return min(found)


LINEAR_OF: Mapping[str, tuple[str, Sequence[str]]] = {
    "kernels of digits": (LINEAR, (SQUARE, CUBE, GAUSSIAN)),
    "kernels of words": (LETTERS, (PAIRS, TRIPLES)),
    "kernels of trees": (PRODUCTIONS, (SMALL_FRAGMENTS, FRAGMENTS)),
}
"""Task -> its linear kernel, and those that see more."""
