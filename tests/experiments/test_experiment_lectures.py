"""The parts of the experiment on the lectures: margins, theorem, tasks, and what claims say of
figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from egparse.experiments.classification import ClassifierProblem
from egparse.experiments.comparisons.comparison import Plan, compare
from egparse.experiments.data.generated import sentences
from egparse.experiments.data.samples import Sample
from egparse.experiments.lectures.examples import block_features, log_likelihood
from egparse.experiments.lectures.hard_margin import hard_margin, margin_of
from egparse.experiments.lectures.kernel_tasks import compare_kernels, squares
from egparse.experiments.lectures.linear import contenders, sequences_setup, with_training_error
from egparse.experiments.lectures.logistic import measure_logistic
from egparse.experiments.lectures.mistakes import follow_perceptron, measure_theorem
from egparse.experiments.lectures.mixing import slope
from egparse.experiments.lectures.pairs import rank_correlation
from egparse.experiments.lectures.tasks import (
    accuracy,
    read_vectors,
    subset,
    tags,
    tree_of,
    trees_of_languages,
    words_of_languages,
)
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.request import Request

from egparse.errors import EgparseError
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.sentences import Sentence

QUICK = Request(quick=True)


def separable(n: int = 12) -> ClassifierProblem:
    random = np.random.default_rng(4)
    x = random.normal(size=(n, 6))
    y = (x @ random.normal(size=(6, 3))).argmax(axis=1)
    return ClassifierProblem(np.concatenate([x, np.ones((n, 1))], axis=1), y, 3)


def differences(problem: ClassifierProblem) -> Any:
    """f(x_i, y_i) - f(x_i, y) for all examples and wrong classes, written out."""
    x, y, classes, _ = problem.inputs()
    rows = []
    for own, label in zip(x, y.tolist(), strict=True):
        for other in set(range(classes)) - {label}:
            row = np.zeros((classes, x.shape[1]))
            row[label] += own
            row[other] -= own
            rows.append(row.reshape(-1))
    return np.array(rows)


def test_the_greatest_margin_satisfies_the_conditions_of_optimality() -> None:
    """w is a combination, with weights of at least 0, of the constraints that hold with equality:
    no other w has a greater margin.
    """
    problem = separable()
    found = hard_margin(problem)
    w, rows = problem.weights.reshape(-1).copy(), differences(problem)
    products = rows @ w
    assert products.min() == pytest.approx(1.0, abs=2e-4)
    tight = rows[products < 1.0 + 1e-3]
    from scipy.optimize import nnls

    assert nnls(tight.T, w)[1] <= 1e-3 * np.linalg.norm(w)
    assert found.norm == pytest.approx(np.linalg.norm(w))
    assert found.margin == pytest.approx(products.min() / np.linalg.norm(w))
    assert found.margin <= found.bound * (1 + 1e-6)
    assert found.bound == pytest.approx(found.margin, rel=1e-3)
    assert margin_of(problem) == pytest.approx(found.margin)
    again = hard_margin(problem, found.supports)
    assert again.margin == pytest.approx(found.margin, rel=1e-3)


def test_what_is_not_separable_is_said() -> None:
    problem = ClassifierProblem(np.ones((2, 1)), [0, 1], 2)
    with pytest.raises(EgparseError, match="expected separable examples"):
        hard_margin(problem)


def test_the_perceptron_that_is_followed_is_that_of_the_registry() -> None:
    problem = separable()
    found = follow_perceptron(problem, 3)
    followed = problem.weights.copy()
    learner = build("perceptron", problem, LearnerConfig(seed=3), averaged=False)
    state = learner.initialise()
    mistakes = 0.0
    for _ in range(found.passes):
        learner.iterate(state)
        mistakes += learner.certificate(state).details["mistakes"]
    np.testing.assert_array_equal(problem.weights, followed)
    assert found.mistakes == mistakes
    assert found.norms[-1] == pytest.approx(float(np.linalg.norm(followed)))
    x = problem.inputs().x
    assert found.radius <= np.sqrt(2 * (x**2).sum(axis=1).max()) + 1e-9


def test_the_theorem_holds_for_vectors_and_sequences() -> None:
    sample = Sample("", sentences(5, 1), sentences(3, 2), sentences(3, 3))
    for problem in (separable(), tags(sample).problem):
        found = measure_theorem(problem, (1, 2), tolerance=0.05, mira_passes=20)
        assert found["margin"] <= found["margin at most"] * (1 + 1e-6)
        for run in found["perceptrons"]:
            assert run["mistakes"] <= run["bound"]
            assert run["least |w| / (k gamma)"] >= 1 - 1e-6
            assert run["greatest |w|^2 / (k R^2)"] <= 1 + 1e-6
            assert run["margin"] <= found["margin at most"] * (1 + 1e-6)


def test_the_worked_examples_of_the_lectures() -> None:
    assert block_features("George Washington Bridge", "Object") == [0, 0, 0, 0, 1, 1, 1, 0]
    assert block_features("Bridge", "Person", bias=True) == [0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
    likelihood, errors = log_likelihood(np.array([-1.0, 0.0, 1.0, 0.0]))
    # 1,000 times log(1 / (1 + e^-2)), once log(1 / (1 + e^-6))
    assert likelihood == pytest.approx(-1000 * np.log1p(np.exp(-2)) - np.log1p(np.exp(-6)))
    assert errors == 0
    likelihood, errors = log_likelihood(np.array([-1.0, 7.0, 1.0, 0.0]))
    assert likelihood == pytest.approx(-1000 * np.log1p(np.exp(-9)) - np.log1p(np.exp(1)))
    assert errors == 1


def test_logistic_regression_is_maximum_entropy() -> None:
    found = measure_logistic(separable(40), 0.5, 1)
    assert found["gradient against differences"] < 1e-6
    assert found["optima apart"] < 0.01
    assert found["counts apart, less C w"] < 1e-3 < found["counts apart"]
    assert found["dual, EG"] <= found["primal"] * (1 + 1e-6)


def test_the_training_error_counts_examples_with_any_mistake() -> None:
    sample = Sample("", sentences(20, 1), sentences(10, 2), sentences(10, 3))
    setup = with_training_error(sequences_setup(tags(sample)))
    plan = Plan("", setup, contenders(0)[:2], (10.0,), Budget(6), risks=True)
    found = compare(plan, QUICK)
    assert [curve.details["training_error"] for curve in found.curves] == [0.0, 0.0]
    assert found.paired("perceptron", 10.0, "perceptron, averaged", 10.0) is not None


def test_a_tree_keeps_its_words_in_order() -> None:
    sentence = Sentence(forms=["a", "dog", "barks"], upos=["DET", "NOUN", "VERB"], heads=[2, 3, 0])
    root = tree_of(sentence)
    assert root.label == "ROOT"
    (verb,) = root.children
    assert [child.label for child in verb.children] == ["NOUN", "*"]
    assert [child.label for child in verb.children[0].children] == ["DET", "*"]


def test_tasks_are_balanced_and_their_parts_apart() -> None:
    for found in (words_of_languages(QUICK, 12, 6), trees_of_languages(QUICK, 12, 6)):
        classes = len(found.classes)
        assert np.bincount(found.train[1]).tolist() == [12] * classes
        assert np.bincount(found.dev[1]).tolist() == [6] * classes
    words = words_of_languages(QUICK, 12, 6)
    assert not set(words.train[0]) & set(words.dev[0])
    digits = read_vectors(QUICK, (30, 10, 5))
    assert [len(part[1]) for part in (digits.train, digits.dev, digits.test)] == [30, 10, 5]
    assert (digits.train[0][:, -1] == 1.0).all()


def test_smaller_training_sets_are_parts_of_larger_ones() -> None:
    sample = Sample("", sentences(30, 1), ())
    few, more = (subset(sample, n, 7).train for n in (5, 12))
    assert [own.forms for own in few] == [own.forms for own in more[:5]]
    assert [own.forms for own in subset(sample, 5, 8).train] != [own.forms for own in few]


def test_kernels_are_compared_on_all_three_kinds_of_objects() -> None:
    found = compare_kernels(Request(quick=True, iterations=1))
    assert {len(own.labels) for own in found.values()} == {5, 3}
    for own in found.values():
        assert own.tests
        assert all(curve.points for curve in own.curves)


def test_small_figures() -> None:
    assert squares(np.array([[1.0, 2.0]])) @ squares(np.array([[3.0, -1.0]])).T == pytest.approx(
        np.array([[(3.0 - 2.0 + 1.0) ** 2]])
    )
    assert slope([1.0, 2.0, 4.0], [1.0, 0.5, 0.25]) == pytest.approx(-1.0)
    assert rank_correlation([1.0, 5.0, 7.0], [0.1, 0.2, 9.0]) == pytest.approx(1.0)
    assert rank_correlation([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) == 0.0
    assert rank_correlation([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]) == pytest.approx(-1.0)
    assert accuracy(np.array([[1, 2], [2, 2]])) == 75.0
