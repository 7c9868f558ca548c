"""What the Newton methods among the maximum-entropy learners promise: solved sub-problems, full
steps near the optimum, products with the Hessian, a dual that rises; and the order of the bounds.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from cli.program import CORPORA, first_sentences, run
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError
from egparse.experiments.maxent.cd import CoordinateDescent, ExactCoordinateDescent
from egparse.experiments.maxent.dual_cd import DualCoordinateDescent, _mass_at, _solve
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.lbfgs import maxent_optimum
from egparse.experiments.maxent.learner import MaxentLearner
from egparse.experiments.maxent.probes.bounds import ORDER, SubProblems
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.rowwise import hessian_product, loss_and_expectations
from egparse.experiments.maxent.tabulation import REFRESH
from egparse.experiments.maxent.tron import TrustRegionNewton
from egparse.types import Floats

SEEDS = st.integers(0, 100_000)
VARIANCES = st.sampled_from([0.1, 1.0, 10.0])


def drawn_problem(seed: int, n: int = 12, d: int = 6, candidates: bool = False) -> MaxentProblem:
    """Contexts of a few attributes with values that are often 1, every third of them twice; some
    labels forbidden with ``candidates``.
    """
    random = np.random.default_rng(seed)
    values = random.choice([1.0, 1.0, 0.5, 2.0], size=(n, d))
    dense = np.where(random.random((n, d)) < 0.5, values, 0.0)
    dense[: n // 3] = dense[n // 3 : 2 * (n // 3)]
    labels = random.integers(0, 3, size=n)
    allowed = random.random((n, 3)) < 0.7
    allowed[np.arange(n), labels] = True
    return build_maxent(
        csr_matrix(dense), labels, label_count=3, candidates=allowed if candidates else None
    )


def after(learner: MaxentLearner, passes: int) -> Floats:
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    return state.w


@given(SEEDS, VARIANCES, st.integers(0, 3))
def test_the_bounds_are_ordered(seed: int, sigma2: float, passes: int) -> None:
    """Eq. 14; and A_CD is the change of the objective, of which the others are bounds that touch it
    at z = 0 (eq. 4 and 6).
    """
    problem = drawn_problem(seed)
    learner = CoordinateDescent(problem, sigma2=sigma2)
    w = after(learner, passes)
    problems = SubProblems(problem, w, sigma2=sigma2)
    for t in range(problem.feature_count):
        assert set(problems.values(t, 0.0).values()) == {0.0}
        for z in (-3.0, -0.5, -0.01, 0.01, 0.5, 3.0):
            found = problems.values(t, z)
            size = 1e-9 * max(1.0, *map(abs, found.values()))
            assert all(found[low] <= found[high] + size for low, high in ORDER)
            moved = w.copy()
            moved[t] += z
            change = learner.objective(moved) - learner.objective(w)
            assert found["cd"] == pytest.approx(change, abs=1e-9)
    counted = problems.violations(np.arange(problem.feature_count), np.array([-1.0, 1.0]))
    assert counted == (8 * problem.feature_count, 0)


@examples(25)
@given(SEEDS, VARIANCES)
def test_exact_sub_problems_are_solved(seed: int, sigma2: float) -> None:
    """After a pass of exact coordinate descent the last weight has no slope; nor has any weight at
    the moment it was moved, so that no pass is behind that of one Newton step by much.
    """
    problem = drawn_problem(seed)
    learner = ExactCoordinateDescent(problem, sigma2=sigma2)
    state = learner.initialise()
    for _ in range(3):
        learner.iterate(state)
        slope = abs(float(learner.gradient(state)[-1]))
        assert slope <= 1e-8 * (1.0 + problem.features.observed[-1])
    assert learner.tally[0] == 3 * problem.feature_count
    assert learner.tally[1] > learner.tally[0]


@examples(25)
@given(SEEDS, VARIANCES)
def test_near_the_optimum_every_step_is_a_full_newton_step(seed: int, sigma2: float) -> None:
    """Section 3.2: there the Newton direction satisfies eq. 16 with lambda = 1."""
    learner = CoordinateDescent(drawn_problem(seed), sigma2=sigma2)
    state = learner.initialise()
    for _ in range(100):
        learner.iterate(state)
        if np.linalg.norm(learner.gradient(state)) < 1e-4:
            break
    learner.tally[:] = 0
    for _ in range(3):
        learner.iterate(state)
    assert learner.tally[2] == learner.tally[1]


def test_the_objective_from_an_updated_table_is_the_objective() -> None:
    """Between two fillings of the table rounding adds up, but not to what could be seen."""
    learner = CoordinateDescent(drawn_problem(4, n=40, d=10), sigma2=10.0)
    state = learner.initialise()
    for _ in range(REFRESH - 1):
        learner.iterate(state)
        assert state.objective == pytest.approx(learner.objective(state.w), rel=1e-12)


@given(SEEDS, st.booleans())
def test_products_with_the_hessian_are_differences_of_gradients(
    seed: int, candidates: bool
) -> None:
    problem = drawn_problem(seed, candidates=candidates)
    random = np.random.default_rng(seed)
    w, v = random.normal(size=(2, problem.feature_count))
    shape = problem.context_count, problem.label_count
    probabilities, scores = np.empty(shape), np.empty(shape[1])
    found, ahead, behind = np.empty((3, len(w)))
    loss_and_expectations(problem.features, w + 1e-6 * v, probabilities, ahead)
    loss_and_expectations(problem.features, w - 1e-6 * v, probabilities, behind)
    loss_and_expectations(problem.features, w, probabilities, found)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(shape[0]))
    hessian_product(problem.features, probabilities, v, scores, found)
    assert found == pytest.approx((ahead - behind) / 2e-6, abs=1e-6)


def test_trust_region_newton_ends_quadratically() -> None:
    """Each of the last steps squares the gradient: with conjugate gradient run to a small residual
    a norm of 1e-2 is followed by one below 1e-3, and that by one below 1e-6.
    """
    learner = TrustRegionNewton(drawn_problem(7, n=40, d=8), sigma2=10.0, forcing=1e-6)
    state = learner.initialise()
    norms = []
    for _ in range(12):
        learner.iterate(state)
        norms.append(float(np.linalg.norm(learner.gradient(state))))
    near = next(place for place, norm in enumerate(norms) if norm < 1e-2)
    assert norms[near + 1] < 1e-3
    assert norms[near + 2] < 1e-6
    assert learner.products > 12


@given(SEEDS, VARIANCES, st.booleans())
def test_the_dual_rises_and_stays_below_the_primal(
    seed: int, sigma2: float, candidates: bool
) -> None:
    """Weak duality at every pass; w equals its dual expression; the start is w = 0."""
    problem = drawn_problem(seed, candidates=candidates)
    learner = DualCoordinateDescent(problem, sigma2=sigma2, seed=seed)
    state = learner.initialise()
    assert not state.w.any()
    duals = [learner.dual(state)]
    primals = [state.objective]
    for _ in range(8):
        learner.iterate(state)
        duals.append(learner.dual(state))
        primals.append(state.objective)
        assert learner.alpha.sum(axis=1) == pytest.approx(problem.features.counts)
        assert learner.alpha.min() >= 0.0
        assert state.w == pytest.approx(weights_of(problem, learner.alpha, sigma2), abs=1e-10)
    assert max(duals) <= min(primals) + 1e-9 * abs(primals[0])
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(duals))


def weights_of(problem: MaxentProblem, alpha: Floats, sigma2: float) -> Floats:
    """w(alpha) = sigma^2 (p~(f_t) - sum_{x,y} alpha_xy f_t(x, y))."""
    features = problem.features
    found = features.observed.copy()
    for a, (begin, end) in enumerate(itertools.pairwise(features.column_starts.tolist())):
        contexts = features.column_contexts[begin:end]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            found[t] -= alpha[contexts, features.labels[t]] @ features.column_values[begin:end]
    return np.asarray(sigma2 * found)


@examples(25)
@given(SEEDS, VARIANCES)
def test_the_dual_meets_the_optimum(seed: int, sigma2: float) -> None:
    problem = drawn_problem(seed)
    optimum = maxent_optimum(problem, sigma2=sigma2)
    learner = DualCoordinateDescent(problem, sigma2=sigma2)
    state = learner.initialise()
    for _ in range(2000):
        learner.iterate(state)
        if state.objective - learner.dual(state) <= 1e-6 * optimum:
            break
    assert learner.dual(state) <= optimum * (1 + 1e-9)
    assert state.objective == pytest.approx(optimum, rel=2e-6)


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.sampled_from([0.0, 0.1, 3.0, 500.0])), min_size=1),
    st.sampled_from([1.0, 7.0]),
)
def test_a_sub_problem_of_the_dual_is_solved(pairs: list[tuple[float, float]], n: float) -> None:
    pulls, curvatures = np.array(pairs).T.copy()
    found = np.empty(len(pairs))
    _solve(pulls, curvatures, n, found)
    assert found.sum() == pytest.approx(n)
    seen = found > 1e-290
    multipliers = np.log(found[seen]) + curvatures[seen] * found[seen] - pulls[seen]
    assert np.ptp(multipliers) <= 1e-7 * max(1.0, float(np.abs(pulls).max()))


@given(st.floats(-80, 80), st.sampled_from([1e-3, 1.0, 200.0]))
def test_a_mass_solves_its_equation(height: float, curvature: float) -> None:
    mass = _mass_at(height, curvature)
    assert math.log(mass) + curvature * mass == pytest.approx(height, rel=1e-9, abs=1e-9)


def test_without_a_prior_there_is_no_dual() -> None:
    with pytest.raises(ConfigError, match="dual-cd: expected a finite sigma2 > 0, got inf"):
        DualCoordinateDescent(drawn_problem(1), sigma2=math.inf)
    with pytest.raises(ConfigError, match=r"tron: expected forcing in \(0, 1\), got 1"):
        TrustRegionNewton(drawn_problem(1), forcing=1.0)


def test_a_pass_of_gis_is_that_of_its_closed_form() -> None:
    """Eq. 12 without a prior: z = log(observed / expected) / f#."""
    learner = GIS(drawn_problem(3), sigma2=math.inf)
    state = learner.initialise()
    expected, w = state.expected.copy(), state.w.copy()
    learner.iterate(state)
    z = np.log(learner.problem.features.observed / expected) / learner.most
    assert state.w == pytest.approx(w + z)


@pytest.mark.parametrize("learner", ["cd-exact", "tron", "dual-cd"])
def test_choices_are_trained_from_the_command_line(learner: str, tmp_path: Path) -> None:
    corpus = first_sentences(CORPORA / "en_sample-train.conllu", 25, tmp_path / "corpus.conllu")
    settings = ("--set", 'layers=["upos"]', "--set", "upos.bigrams=false")
    arguments = ("--learner", learner, "-o", tmp_path / "model.msgpack", "--quiet", "--json")
    said = json.loads(run("train", corpus, *settings, *arguments).stdout)
    assert said["tasks"]["upos"]["kept"] >= 1
