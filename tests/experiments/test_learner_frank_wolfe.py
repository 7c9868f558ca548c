"""Block-coordinate Frank-Wolfe: a dual that never falls, gaps that bound it, and the optimum of
other learners, whatever the steps and the sampling.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import PROVEN, EnumeratedProblem, max_margin_optimum, random_problem
from learners.passes import passes
from learners.slices import EACH, SLICES
from properties import examples
from tolerances import SINGLE, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.active_sets import ActiveSet
from egparse.experiments.learners.frank_wolfe import (
    FrankWolfe,
    FrankWolfeConfig,
    FrankWolfeState,
    nearest_structure,
)
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import read
from egparse.learners.registry import build

HINGE = {"beta": math.inf, "gamma": 1.0}
STEPS = ("plain", "pairwise", "away")
SAMPLINGS = ("uniform", "permuted", "gap")


def stored_slack(state: FrankWolfeState, problem: EnumeratedProblem, c: float) -> float:
    """How far mixtures that are rounded to float32 may carry the dual beyond a feasible point: the
    rounding of each part, times the derivative by it, |p + s / C|.
    """
    slopes = [
        float(np.abs(problem.cost(i) + problem.scores(i) / c).sum())
        for i in range(len(problem.structures))
    ]
    return SINGLE * (state.visits + 1) * sum(slopes)


def proven_distance(
    problem: EnumeratedProblem, c: float, state: FrankWolfeState, optimum: float
) -> float:
    """2 n (C_f + h_0) / (k + 2 n) after k visits, with curvatures C_f <= sum_i R_i^2 / C and
    the first distance h_0, from a dual of 0 (Lacoste-Julien et al. 2013, Theorem 2; in
    expectation, for plain steps on uniform draws).
    """
    n, curvature = len(problem.structures), 0.0
    for i in range(n):
        psi, _ = problem.differences(i)
        curvature += float(((psi[:, None] - psi[None]) ** 2).sum(axis=2).max()) / c
    return 2 * n * (curvature + optimum) / (state.visits + 2 * n)


@examples(6)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.2, 2.0]),
    st.sampled_from(STEPS),
    st.sampled_from(SAMPLINGS),
)
def test_the_dual_rises_to_the_optimum_and_the_primal_stays_above(
    seed: int, c: float, steps: str, sampling: str
) -> None:
    problem = random_problem(seed)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=c, steps=steps, sampling=sampling))  # type: ignore[arg-type]
    state = learner.initialise()
    optimum = max_margin_optimum(problem, c)
    found = list(passes(learner, state, 60))
    slack = stored_slack(state, problem, c) + PROVEN * optimum
    assert all(b.dual >= a.dual - slack for a, b in itertools.pairwise(found))
    assert max(own.dual for own in found) <= optimum + slack
    assert min(own.primal for own in found) >= optimum - slack
    assert optimum - found[-1].dual <= proven_distance(problem, c, state, optimum) + slack


@pytest.mark.parametrize("steps", STEPS)
def test_every_step_raises_the_dual_by_what_it_says(steps: str) -> None:
    problem = random_problem(3)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.5, steps=steps))  # type: ignore[arg-type]
    state = learner.initialise()
    for k in range(200):
        before = learner.dual(state)
        increase = learner.update(state, k % learner.n)
        assert learner.dual(state) - before == pytest.approx(increase, abs=1e-9)
        assert increase >= -1e-8


@pytest.mark.parametrize("steps", STEPS)
def test_v_is_its_dual_expression_and_mixtures_are_distributions(steps: str) -> None:
    problem = random_problem(4)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.3, steps=steps))  # type: ignore[arg-type]
    state = learner.initialise()
    for _ in passes(learner, state, 20):
        pass
    v = np.zeros_like(problem.v)
    for i in range(learner.n):
        own = state.mixtures[problem.part_starts[i] : problem.part_starts[i + 1]]
        v += problem.features[i].T @ (problem.gold(i) - own)
        assert state.value[i] == pytest.approx(
            float(problem.cost(i) @ own) + problem.cost_constant(i)
        )
        if state.active:
            mixture = np.empty(len(own))
            state.active[i].mixture(mixture)
            np.testing.assert_allclose(own, mixture, atol=SINGLE * (state.visits + 1))
    np.testing.assert_allclose(problem.v, v, atol=rounding(4 * state.visits))
    assert state.squared_norm == pytest.approx(float(v @ v))


def test_the_gap_is_the_sum_of_the_gaps_of_the_examples() -> None:
    """P(w) - D(mu) = sum_i g_i at one w (Lacoste-Julien et al. 2013, section 3.3)."""
    problem = random_problem(5)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.5))
    state = learner.initialise()
    for certificate in passes(learner, state, 5):
        gaps = 0.0
        for i in range(learner.n):
            own = state.mixtures[problem.part_starts[i] : problem.part_starts[i + 1]]
            potentials = problem.cost(i) + problem.scores(i) / 0.5
            gaps += float((problem.structures[i] @ potentials).max() - potentials @ own)
        assert certificate.gap == pytest.approx(gaps)


def test_draws_by_gap_need_fewer_passes_than_uniform_ones() -> None:
    """A few hard examples among many that have nothing to learn."""
    random = np.random.default_rng(1)
    structures = [np.eye(3) for _ in range(60)]
    features = [random.normal(size=(3, 6)) if i < 6 else np.zeros((3, 6)) for i in range(60)]
    needed = {}
    for sampling in ("uniform", "gap"):
        problem = EnumeratedProblem(structures, features)
        learner = FrankWolfe(problem, FrankWolfeConfig(c=0.05, sampling=sampling))  # type: ignore[arg-type]
        found = passes(learner, learner.initialise(), 400)
        needed[sampling] = next(
            k for k, own in enumerate(found) if own.relative_gap < 1e-3 or k == 399
        )
    assert needed["gap"] < needed["uniform"] / 2


def test_the_average_is_weighted_by_the_number_of_the_visit() -> None:
    problem = random_problem(6)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.5, averaged=True))
    state = learner.initialise()
    total = np.zeros_like(problem.v)
    for k in range(1, 101):
        learner.update(state, k % learner.n)
        total += k * read(problem)
    with learner.model_weights(state):
        averaged = read(problem).copy()
        inside = learner.certificate(state).primal
    # w_avg = 2 / (K (K + 1)) sum_k k w_k
    np.testing.assert_allclose(averaged, 2 / (100 * 101) * total, atol=rounding(1e4))
    assert learner.certificate(state).primal == pytest.approx(inside)
    assert np.abs(averaged - problem.v).max() > 1e-6


@pytest.mark.compiled_only
@pytest.mark.parametrize("slice_name", EACH)
def test_agreement_with_working_sets_on_sentences(slice_name: str) -> None:
    config = LearnerConfig(**HINGE, c=100.0)
    certificates = []
    for name, options, gap in (
        ("n-slack", {"epsilon": 1e-6}, 1e-3),
        ("frank-wolfe", {}, 5e-3),  # plain steps zigzag towards mixtures
        ("frank-wolfe", {"steps": "pairwise", "sampling": "gap"}, 1e-3),
        ("frank-wolfe", {"steps": "away", "sampling": "permuted"}, 1e-3),
    ):
        learner = build(name, SLICES[slice_name](), config, **options)
        for certificate in passes(learner, learner.initialise(), 400):
            if certificate.relative_gap < gap:
                break
        assert certificate.relative_gap < gap
        certificates.append(certificate)
    slack = 1 + rounding(100, eps=SINGLE)  # scores of up to 100 features in single precision
    assert max(each.dual for each in certificates) <= slack * min(
        each.primal for each in certificates
    )


def test_vectors_are_learned() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(60, 5))
    problem = ClassifierProblem(x, random.integers(0, 3, size=60), 3)
    learner = build("frank-wolfe", problem, LearnerConfig(**HINGE, c=5.0), sampling="gap")
    *_, certificate = passes(learner, learner.initialise(), 200)
    assert certificate.relative_gap < 1e-2


def test_the_start_is_the_correct_structure_or_the_nearest_that_can_be_reached() -> None:
    problem = random_problem(7)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=1.0))
    state = learner.initialise()
    assert not problem.v.any()
    assert learner.dual(state) == 0.0
    np.testing.assert_array_equal(state.mixtures[: problem.part_starts[1]], problem.gold(0))
    chain = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    reachable = EnumeratedProblem([chain[1:]], [np.eye(4)])
    reachable.gold = lambda i: chain[0].copy()  # type: ignore[method-assign]
    found = nearest_structure(reachable, 0, np.empty(4), np.empty(4))
    np.testing.assert_array_equal(found, chain[1])


def test_an_active_set_is_a_distribution() -> None:
    shapes = np.eye(3)
    active = ActiveSet(shapes[0])
    active.shrink(0.75)
    active.include(shapes[1], 0.25)
    key, score = active.worst(np.array([1.0, -1.0, 5.0]))
    assert (active.weight(key), score) == (0.25, -1.0)
    active.take(key, 0.25)
    active.include(shapes[2], 0.25)
    out = np.empty(3)
    active.mixture(out)
    assert (len(active), out.tolist()) == (2, [0.75, 0.0, 0.25])
    active.vector(key := active.worst(np.array([1.0, 0.0, -1.0]))[0], out)
    assert out.tolist() == [0.0, 0.0, 1.0]
    assert active.weight(key) == 0.25


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (math.inf, 0.0), (math.inf, 2.0)])
def test_other_losses_are_named(beta: float, gamma: float) -> None:
    with pytest.raises(ConfigError, match="Frank-Wolfe expects the loss max-margin"):
        build("frank-wolfe", random_problem(3), LearnerConfig(beta=beta, gamma=gamma))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": "long"}, "steps among plain, pairwise, away, got 'long'"),
        ({"sampling": "cyclic"}, "sampling among uniform, permuted, gap, got 'cyclic'"),
        ({"refresh": 0}, "refresh >= 1"),
    ],
)
def test_configurations_that_cannot_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build("frank-wolfe", random_problem(3), LearnerConfig(**HINGE), **options)


def test_scores_that_are_not_finite_are_named() -> None:
    problem = random_problem(4)
    problem.features[2][0, 0] = np.inf
    learner = FrankWolfe(problem, FrankWolfeConfig())
    with np.errstate(invalid="ignore"), pytest.raises(EgparseError, match="expected a finite gap"):
        list(passes(learner, learner.initialise(), 5))
