"""The problem of taggers: its contract, and its optimum by EG and by L-BFGS on the enumerated
problem.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from full_rows import full_rows
from learners.enumerated import PROVEN
from learners.passes import passes
from scipy.optimize import minimize
from scipy.special import logsumexp
from tolerances import bracket, stored_slack

from egparse.errors import ConfigError
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import NAMED
from egparse.learners.problem import read, size, squared_norm, write
from egparse.learners.registry import build
from egparse.sequences.problem import SequenceProblem
from egparse.sequences.task import observed_bigrams
from egparse.types import Floats

N_LABELS = 3
STARTS = np.cumsum([0, 4, 1, 3])


def arguments(seed: int, listed: bool) -> dict[str, object]:
    random = np.random.default_rng(seed)
    words = int(STARTS[-1])
    gold = random.integers(0, N_LABELS, size=words).astype(np.int32)
    allowed = (random.random((words, N_LABELS)) < 0.5) | (not listed)
    allowed[np.arange(words), gold] = True
    return {
        "attributes": random.integers(-1, 5, size=(words, 2)).astype(np.int32),
        "word_starts": STARTS,
        "gold": gold,
        "candidates": np.nonzero(allowed)[1].astype(np.uint16),
        "candidate_starts": np.concatenate([[0], np.cumsum(allowed.sum(axis=1))]),
        "rows": full_rows(5, N_LABELS),
        "n_labels": N_LABELS,
    }


def problem_of(seed: int, *, listed: bool = True) -> SequenceProblem:
    """Three sentences of four, one and three words; a part of the bigrams has no weight."""
    own = arguments(seed, listed)
    random = np.random.default_rng(seed + 100)
    seen = observed_bigrams(own["gold"], STARTS, N_LABELS)  # type: ignore[arg-type]
    support = seen | (random.random(seen.shape) < 0.5)
    return SequenceProblem(**own, support=support)  # type: ignore[arg-type]


def structures_of(problem: SequenceProblem, i: int) -> Floats:
    """The part vectors of all label sequences of a sentence, written from labels alone."""
    own = arguments(SEED, LISTED)
    starts = np.asarray(own["candidate_starts"])
    lists = [
        np.asarray(own["candidates"])[starts[k] : starts[k + 1]].tolist()
        for k in range(int(STARTS[i]), int(STARTS[i + 1]))
    ]
    labels = sorted({label for among in lists for label in among})
    begins = np.cumsum([0, *map(len, lists)])
    rows = []
    for path in itertools.product(*lists):
        row = np.zeros(int(problem.part_starts[i + 1] - problem.part_starts[i]))
        for k, label in enumerate(path):
            row[begins[k] + lists[k].index(label)] = 1.0
        for before, after in itertools.pairwise(map(labels.index, path)):
            row[begins[-1] + before * len(labels) + after] += 1.0
        rows.append(row)
    return np.array(rows)


SEED, LISTED = 4, True


def feature_matrix(problem: SequenceProblem, i: int) -> Floats:
    """F_i (parts, d): the scores of unit weight vectors."""
    columns = []
    for direction in np.eye(size(problem)):
        write(problem, direction)
        columns.append(problem.scores(i).copy())
    problem.reset()
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "full"])
def test_add_is_the_transpose_of_scores(listed: bool) -> None:
    problem = problem_of(1, listed=listed)
    random = np.random.default_rng(1)
    for i in range(3):
        problem.reset()
        changes = random.normal(size=len(problem.gold(i)))
        grown = problem.add(i, changes)
        direction = read(problem)
        assert grown == pytest.approx(float(direction @ direction), rel=1e-12)
        before = squared_norm(problem)
        again = problem.add(i, random.normal(size=len(changes)))
        assert squared_norm(problem) - before == pytest.approx(again, rel=1e-9)
        # weights that may be other than 0 only on the support: any that ``add`` can make
        problem.reset()
        for j in range(3):
            problem.add(j, random.normal(size=len(problem.gold(j))))
        weights, scores = read(problem), problem.scores(i)
        assert float(scores @ changes) == pytest.approx(float(weights @ direction), rel=1e-9)


def test_scores_are_those_of_tables_and_labels() -> None:
    problem = problem_of(2, listed=False)
    random = np.random.default_rng(2)
    write(problem, random.normal(size=size(problem)))
    scores = problem.scores(0)
    expected = np.concatenate([table.ravel() for table in problem.vectors()[2:]])
    np.testing.assert_array_equal(scores[4 * N_LABELS :], expected)
    np.testing.assert_array_equal(problem.transitions.ravel(), expected.astype("f4"))


def test_gold_cost_and_inference_are_those_of_enumeration() -> None:
    problem = problem_of(SEED, listed=LISTED)
    random, given = np.random.default_rng(3), arguments(SEED, LISTED)
    first, flat, correct = (
        np.asarray(given[name]) for name in ("candidate_starts", "candidates", "gold")
    )
    for i in range(3):
        own = structures_of(problem, i)
        gold, words = problem.gold(i).copy(), int(STARTS[i + 1] - STARTS[i])
        unary = int(first[STARTS[i + 1]] - first[STARTS[i]])
        assert (own == gold).all(axis=1).sum() == 1
        np.testing.assert_array_equal(
            flat[first[STARTS[i]] :][:unary][gold[:unary] == 1], correct[STARTS[i] :][:words]
        )
        costs = own @ problem.cost(i) + problem.cost_constant(i)
        wrong = words - own[:, :unary] @ gold[:unary]
        np.testing.assert_allclose(costs, wrong)
        assert gold[:unary].sum() == words
        potentials = random.normal(size=len(gold))
        scores = own @ potentials
        out = np.empty_like(potentials)
        assert problem.marginals(i, potentials, out) == pytest.approx(logsumexp(scores), rel=1e-12)
        np.testing.assert_allclose(out, np.exp(scores - logsumexp(scores)) @ own, atol=1e-12)
        assert problem.argmax(i, potentials, out) == pytest.approx(scores.max(), rel=1e-12)
        np.testing.assert_array_equal(out, own[scores.argmax()])
        best = np.argsort(-scores)[:3]
        np.testing.assert_array_equal(problem.k_best(i, potentials, 3), own[best])


def optimum(problem: SequenceProblem, c: float) -> float:
    """min sum_i log sum_y exp(w . F_i'(y - gold)) + C/2 |w|^2, by L-BFGS over the sequences listed
    out; proven by strong convexity, as in ``learners.enumerated``.
    """
    differences = []
    for i in range(3):
        own, gold = structures_of(problem, i), problem.gold(i).copy()
        features = feature_matrix(problem, i) * supported(problem)
        differences.append((own - gold) @ features)

    def objective(w: Floats) -> tuple[float, Floats]:
        value, gradient = c / 2 * float(w @ w), c * w
        for own in differences:
            scores = own @ w
            log_z = float(logsumexp(scores))
            value += log_z
            gradient = gradient + np.exp(scores - log_z) @ own
        return value, gradient

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    start = np.zeros(size(problem))
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    assert found.jac @ found.jac / (2 * c) <= PROVEN * found.fun
    return float(found.fun)


def supported(problem: SequenceProblem) -> Floats:
    """1 for the weights that may move, 0 for n-grams without support."""
    problem.reset()
    for i in range(3):
        problem.add(i, np.random.default_rng(i).normal(size=len(problem.gold(i))))
    own = (read(problem) != 0.0).astype(float)
    problem.reset()
    return own


def test_eg_reaches_the_optimum_of_scipy() -> None:
    problem = problem_of(SEED, listed=LISTED)
    expected = optimum(problem, 0.5)
    features = [feature_matrix(problem, i) * supported(problem) for i in range(3)]
    slack = PROVEN * expected + stored_slack(features, 0.5)
    eg = OnlineEG(problem, EGConfig(c=0.5))
    for certificate in passes(eg, eg.initialise(), 300):
        bracket([certificate], expected, slack)
        if certificate.relative_gap < 1e-6:
            break
    assert certificate.relative_gap < 1e-6


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "full"])
def test_the_gap_closes_with_a_margin(listed: bool) -> None:
    eg = OnlineEG(problem_of(SEED, listed=listed), EGConfig.under(NAMED["max-margin"], c=1.0))
    gaps = [each.relative_gap for each in passes(eg, eg.initialise(), 200)]
    assert min(gaps) > -1e-6
    assert gaps[-1] < 5e-3  # theta grows to hundreds, and its float32 then holds no smaller step


@pytest.mark.nightly
def test_other_learners_take_it() -> None:
    problem = problem_of(SEED, listed=LISTED)
    expected = optimum(problem, 0.5)
    learner = build("lbfgs", problem, LearnerConfig(c=0.5))
    state = learner.initialise()
    for _ in range(60):
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.relative_gap < 1e-4
    bracket([certificate], expected, PROVEN * expected)


def test_twin_and_reset() -> None:
    problem = problem_of(1)
    problem.add(0, np.ones(len(problem.gold(0))))
    twin = problem.with_own_weights()
    assert squared_norm(problem) > 0 == squared_norm(twin)
    twin.add(1, np.ones(len(twin.gold(1))))
    assert squared_norm(twin) > 0
    problem.reset()
    assert squared_norm(problem) == 0 < squared_norm(twin)
    assert problem.rows.weights.max() == 0 < twin.rows.weights.max()
    assert not problem.transitions.any()


def test_observed_bigrams_stay_inside_sentences() -> None:
    seen = observed_bigrams(np.array([0, 1, 2, 2], np.int32), np.array([0, 3, 4]), 3)
    assert np.argwhere(seen).tolist() == [[0, 1], [1, 2]]


def test_faults() -> None:
    own = arguments(1, True)
    with pytest.raises(ConfigError, match=r"shape \(3, 3\), got \(2, 2\)"):
        SequenceProblem(**own, support=np.ones((2, 2), bool))  # type: ignore[arg-type]
