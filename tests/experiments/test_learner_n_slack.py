"""Working sets of each example: lower bounds that rise to the optimum of the structured SVM."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.calls import count_calls
from learners.enumerated import EnumeratedProblem, max_margin_optimum, random_problem
from learners.passes import passes
from learners.slices import EACH, SLICES
from properties import examples
from scipy.optimize import minimize
from tolerances import SINGLE, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.n_slack import NSlack, NSlackConfig
from egparse.experiments.learners.working_sets import WorkingSets
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build

HINGE = {"beta": math.inf, "gamma": 1.0}


@examples(8)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 2.0]), st.sampled_from([1, 5, 100]))
def test_the_gap_at_the_end_is_what_epsilon_allows(seed: int, c: float, accumulate: int) -> None:
    """Outside the working sets no structure is violated by more than epsilon, and within them no
    structure with weight is below the slack by more than epsilon / 2: 1.5 n epsilon in all.
    """
    problem, epsilon = random_problem(seed), 1e-4
    learner = NSlack(problem, NSlackConfig(c=c, epsilon=epsilon, accumulate=accumulate))
    state = learner.initialise()
    searches = count_calls(problem)
    found = list(itertools.takewhile(lambda _: not state.finished, passes(learner, state, 300)))
    assert state.finished
    certificate = learner.certificate(state)
    optimum = max_margin_optimum(problem, c)
    # psi is rounded to float32, and with it the costs that slacks are compared with
    slack = rounding(100, optimum, SINGLE)
    assert certificate.dual <= optimum + slack
    assert certificate.primal >= optimum - slack
    assert certificate.gap <= 1.5 * learner.n * epsilon + slack
    assert searches["argmax"] == (state.evaluations - learner.n) + learner.n * (len(found) + 2)


def test_the_dual_never_falls() -> None:
    problem = random_problem(2)
    learner = NSlack(problem, NSlackConfig(c=0.2, accumulate=3))
    duals = [own.dual for own in passes(learner, learner.initialise(), 20)]
    assert all(b >= a - rounding(100, abs(b), SINGLE) for a, b in itertools.pairwise(duals))


def test_v_is_that_of_the_mixture() -> None:
    problem = random_problem(1)
    learner = NSlack(problem, NSlackConfig(c=0.5))
    state = learner.initialise()
    for _ in passes(learner, state, 10):
        pass
    for i in range(learner.n):
        weights = state.sets.weights(i)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(problem.v, state.sets.v)


def test_working_sets_solve_their_program() -> None:
    """Against an independent solver, over all structures of a few examples."""
    random, c = np.random.default_rng(5), 0.7
    psi, costs = random.integers(-2, 3, size=(3, 4, 5)).astype(float), random.random((3, 4)) * 3
    sets = WorkingSets(3, 5, c)
    for i, k in itertools.product(range(3), range(4)):
        used = np.flatnonzero(psi[i, k])
        sets.include(i, costs[i, k], used, psi[i, k][used])
    sweeps, solved = sets.solve(1e-8)
    assert solved
    assert sweeps < 200

    def value(alpha: np.ndarray) -> float:
        v = np.einsum("ik,ikf->f", alpha.reshape(3, 4), psi)
        return -float(alpha @ costs.ravel()) + float(v @ v) / (2 * c)

    sums = {"type": "eq", "fun": lambda alpha: alpha.reshape(3, 4).sum(axis=1) - 1}
    best = minimize(
        value, np.full(12, 0.25), bounds=[(0, 1)] * 12, constraints=sums, options={"ftol": 1e-14}
    )
    assert sets.dual() == pytest.approx(-best.fun, rel=1e-6)


def test_structures_without_weight_are_dropped() -> None:
    kept = []
    optimum = max_margin_optimum(random_problem(3), 0.1)
    for patience in (1, 1000):
        learner = NSlack(
            random_problem(3), NSlackConfig(c=0.1, patience=patience, accumulate=1, epsilon=1e-3)
        )
        state = learner.initialise()
        *_, certificate = passes(learner, state, 100)
        assert certificate.dual == pytest.approx(optimum, abs=2 * learner.n * 1e-3)
        kept.append(certificate.details["structures"])
    assert kept[0] < kept[1]


@pytest.mark.compiled_only
@pytest.mark.parametrize("slice_name", EACH)
def test_agreement_with_cutting_planes_on_sentences(slice_name: str) -> None:
    config = LearnerConfig(**HINGE, c=100.0)
    certificates = []
    for name in ("n-slack", "eg-online"):
        learner = build(name, SLICES[slice_name](), config)
        for certificate in passes(learner, learner.initialise(), 300):
            if certificate.relative_gap < 1e-3:
                break
        assert certificate.relative_gap < 1e-3
        certificates.append(certificate)
    slack = 1 + rounding(100, eps=SINGLE)  # scores of up to 100 features in single precision
    assert max(each.dual for each in certificates) <= slack * min(
        each.primal for each in certificates
    )


def test_a_correct_structure_out_of_reach_lowers_the_optimum_below_zero() -> None:
    """Slacks have no lower bound of 0."""
    gold, others = np.array([1.0, 0.0, 0.0]), np.eye(3)[1:]
    features = [np.array([[9.0, 1.0], [1.0, 0.0], [0.0, -1.0]])]
    bounds = []
    for name in ("n-slack", "eg-online"):
        problem = EnumeratedProblem([others], features)
        problem.gold = lambda i: gold.copy()  # type: ignore[method-assign]
        problem.cost = lambda i: -gold  # type: ignore[method-assign]
        problem.cost_constant = lambda i: 1.0  # type: ignore[method-assign]
        learner = build(name, problem, LearnerConfig(**HINGE, c=2.0))
        *_, certificate = passes(learner, learner.initialise(), 40)
        bounds.append(certificate)
    assert bounds[1].primal < -5.0
    assert bounds[0].primal == pytest.approx(bounds[1].primal, rel=1e-3)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (math.inf, 0.0), (math.inf, 2.0)])
def test_other_losses_are_named(beta: float, gamma: float) -> None:
    with pytest.raises(ConfigError, match="working sets expect the loss max-margin"):
        build("n-slack", random_problem(3), LearnerConfig(beta=beta, gamma=gamma))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon >= 1e-09, got 0"),
        ({"accumulate": 0}, "accumulate >= 1"),
        ({"patience": 0}, "patience >= 1"),
    ],
)
def test_configurations_that_cannot_work(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build("n-slack", random_problem(3), LearnerConfig(**HINGE), **options)


def test_scores_that_are_not_finite_are_named() -> None:
    problem = random_problem(4)
    problem.features[2][0, 0] = np.inf
    learner = NSlack(problem, NSlackConfig())
    with np.errstate(invalid="ignore"), pytest.raises(EgparseError, match="finite score"):
        list(passes(learner, learner.initialise(), 5))
