"""Cutting planes: lower bounds that rise to the optimum of the structured SVM, as exponentiated
gradient finds it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from learners.calls import count_calls
from learners.enumerated import PROVEN, EnumeratedProblem, max_margin_optimum, random_problem
from learners.slices import EACH, SLICES
from properties import examples
from scipy.optimize import minimize
from tolerances import DOUBLE, SINGLE, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.cutting_plane import (
    CuttingPlane,
    CuttingPlaneConfig,
    CuttingPlaneState,
    best_weights,
)
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build

HINGE = {"beta": math.inf, "gamma": 1.0}


def primal_of(problem: EnumeratedProblem, w: np.ndarray, c: float) -> float:
    """The objective by enumeration."""
    found = (problem.differences(i) for i in range(len(problem.structures)))
    return sum(float((costs + moved @ w).max()) for moved, costs in found) + c / 2 * float(w @ w)


def settled_gap(learner: CuttingPlane, state: CuttingPlaneState) -> float:
    """The largest gap at which a learner may stop.

    It stops at a relative gap of ``tolerance``, or where a new plane g does not raise the dual. The
    derivative of the dual from the weights towards that plane is the gap e, its curvature q = |g -
    v|^2 / C, so in exact arithmetic the plane raises it by at least min(e / 2, e^2 / (2 q)). What
    the program loses is d = 1e-10 (the tolerance of the solver) times its unit, the largest number
    in it. So where nothing rises e <= 2 d or e <= sqrt(2 q d).
    """
    q = float(np.sum((state.cut.slope - learner.problem.v) ** 2)) / state.c  # type: ignore[attr-defined]
    d = 1e-10 * max(float(np.abs(state.gram).max()) / state.c, float(np.ptp(state.heights)))
    return max(learner.config.tolerance * abs(state.dual), 2 * d, math.sqrt(2 * q * d))


def steps(learner: CuttingPlane, state: CuttingPlaneState, count: int) -> None:
    """Some steps."""
    for _ in range(count):
        learner.iterate(state)


@examples(10)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 2.0]))
@example(2271, 0.2)  # ends at a relative gap of 1.2e-5, where no plane lifts the dual
def test_bounds_rise_until_they_meet_the_primal(seed: int, c: float) -> None:
    problem = random_problem(seed)
    learner = CuttingPlane(problem, CuttingPlaneConfig(c=c))
    searches = count_calls(problem)
    state = learner.initialise()
    duals, primals = [], []
    while not state.finished and len(duals) < 150:
        learner.iterate(state)
        certificate = learner.certificate(state)
        duals.append(certificate.dual)
        primals.append(certificate.primal)
        assert certificate.primal == pytest.approx(primal_of(problem, problem.v / c, c))
    assert state.finished
    assert all(after >= before for before, after in itertools.pairwise(duals))
    optimum = max_margin_optimum(problem, c)
    assert duals[-1] * (1 - PROVEN) <= optimum <= min(primals) * (1 + PROVEN)
    assert certificate.gap <= settled_gap(learner, state)
    assert certificate.effective_iterations == searches["argmax"] / learner.n


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("c", [0.2, 2.0])
def test_the_optimum_is_that_of_the_whole_program(seed: int, c: float) -> None:
    problem = random_problem(seed)
    learner = CuttingPlane(problem, CuttingPlaneConfig(c=c))
    state = learner.initialise()
    steps(learner, state, 60)
    certificate = learner.certificate(state)
    assert state.finished
    optimum = max_margin_optimum(problem, c)
    assert certificate.dual * (1 - PROVEN) <= optimum <= certificate.primal * (1 + PROVEN)
    assert certificate.gap <= settled_gap(learner, state)


def test_each_bound_is_that_of_a_mixture_of_structures() -> None:
    problem = random_problem(1)
    learner = CuttingPlane(problem, CuttingPlaneConfig(c=0.5))
    state = learner.initialise()
    for _ in range(12):
        learner.iterate(state)
    assert state.weights.sum() == pytest.approx(1.0, abs=rounding(len(state.weights)))
    assert (state.weights >= 0).all()
    v = sum(weight * slope for weight, slope in zip(state.weights, state.slopes, strict=True))
    slopes = np.array(state.slopes)
    largest = float(np.abs(slopes).max())
    np.testing.assert_allclose(problem.v, v, atol=rounding(len(slopes), largest))
    np.testing.assert_allclose(  # inner products, of as many terms as there are features
        state.gram, slopes @ slopes.T, atol=rounding(slopes.shape[1], largest**2)
    )
    assert state.dual == pytest.approx(
        float(state.weights @ state.heights) - float(v @ v) / (2 * 0.5)
    )


def test_planes_without_a_share_are_dropped_and_nothing_is_lost() -> None:
    problem = random_problem(2)
    optimum = max_margin_optimum(problem, 0.2)
    planes = []
    for patience in (2, 1000):
        learner = CuttingPlane(problem, CuttingPlaneConfig(c=0.2, patience=patience))
        state = learner.initialise()
        for _ in range(200):
            learner.iterate(state)
        assert state.finished
        certificate = learner.certificate(state)
        assert certificate.gap <= settled_gap(learner, state)
        assert certificate.dual * (1 - PROVEN) <= optimum <= certificate.primal * (1 + PROVEN)
        planes.append(len(state.slopes))
    assert planes[0] < planes[1]


@pytest.mark.compiled_only
@pytest.mark.parametrize("slice_name", EACH)
def test_agreement_with_exponentiated_gradient_on_sentences(slice_name: str) -> None:
    config = LearnerConfig(**HINGE, c=100.0)
    certificates = []
    for name in ("eg-batch", "cutting-plane"):
        learner = build(name, SLICES[slice_name](), config)
        state = learner.initialise()
        for _ in range(400):
            learner.iterate(state)
            certificate = learner.certificate(state)
            if certificate.relative_gap < 1e-3:
                break
        assert certificate.relative_gap < 1e-3
        certificates.append(certificate)
    # Every dual is at most the optimum and every primal at least, but for the rounding of trees,
    # whose weights are in single precision: scores of up to 100 features, summed over the words.
    slack = 1 + rounding(100, eps=SINGLE)
    assert max(each.dual for each in certificates) <= slack * min(
        each.primal for each in certificates
    )


def test_a_correct_structure_out_of_reach_lowers_the_optimum_below_zero() -> None:
    """The loss of an example whose correct structure is no structure has no lower bound of 0 (as
    for non-projective trees).
    """
    structures = [np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])]
    problem = EnumeratedProblem(structures, [np.array([[9.0, 1.0], [1.0, 0.0], [0.0, -1.0]])])
    gold = structures[0][0].copy()
    reachable = EnumeratedProblem([structures[0][1:]], problem.features)
    reachable.gold = lambda i: gold.copy()  # type: ignore[method-assign]
    reachable.cost = lambda i: -gold  # type: ignore[method-assign]
    reachable.cost_constant = lambda i: 1.0  # type: ignore[method-assign]
    learner = CuttingPlane(reachable, CuttingPlaneConfig(c=2.0))
    state = learner.initialise()
    for _ in range(40):
        learner.iterate(state)
    certificate = learner.certificate(state)
    moved = (structures[0][1:] - gold) @ problem.features[0]
    least = minimize(
        lambda x: x[2] + x[:2] @ x[:2],
        np.zeros(3),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: x[2] - 1.0 - moved @ x[:2]},
    ).fun
    assert least < -5.0
    assert state.finished
    assert certificate.gap <= settled_gap(learner, state)
    slack = math.sqrt(DOUBLE) * abs(least)  # SLSQP differentiates numerically
    assert certificate.dual - slack <= least <= certificate.primal + slack


@examples(25)
@given(
    st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000), st.sampled_from([1e-4, 1.0, 1e6])
)
def test_weights_solve_their_program(k: int, rank: int, seed: int, scale: float) -> None:
    """Optimality: no plane has a greater slope than those with a share."""
    random = np.random.default_rng(seed)
    slopes = random.normal(size=(k, rank))
    quadratic, heights = scale * slopes @ slopes.T, scale * random.normal(size=k)
    weights = best_weights(quadratic, heights)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0, abs=rounding(k))
    # The solver stops at a duality gap of 1e-10 in units of the largest number; weights below 1e-9
    # are dropped, which moves the gradient by as much in the same unit. The gradient's range (here
    # the duality gap of the weights) is first order in a weight's error, the gap second order: the
    # solver leaves an error of up to sqrt(1e-10).
    unit = max(float(np.abs(quadratic).max()), float(np.ptp(heights))) / scale
    gradient = (heights - quadratic @ weights) / scale
    assert gradient.max() - float(weights @ gradient) <= unit * math.sqrt(1e-10)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (math.inf, 0.0), (math.inf, 2.0)])
def test_other_losses_are_named(beta: float, gamma: float) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"cutting planes expect the loss max-margin .* beta = {beta:g}, gamma = {gamma:g}",
    ):
        build("cutting-plane", random_problem(3), LearnerConfig(beta=beta, gamma=gamma))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"patience": 0}, "patience >= 1"), ({"tolerance": -1.0}, "tolerance >= 0")],
)
def test_configurations_that_cannot_work(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build("cutting-plane", random_problem(3), LearnerConfig(**HINGE), **options)


def test_an_objective_that_is_not_finite_is_named() -> None:
    problem = random_problem(4)
    problem.features[2][0, 0] = np.inf
    learner = CuttingPlane(problem, CuttingPlaneConfig())
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(EgparseError, match="cutting planes: expected"),
    ):
        steps(learner, learner.initialise(), 3)
