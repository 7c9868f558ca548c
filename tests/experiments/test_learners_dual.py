"""Learners that keep dual variables of each example: a dual that never falls and says by how much
it rises, v as its dual expression, the optimum between dual and primal, and the pieces of steps.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import passes
from learners.slices import EACH, SLICES
from learners.small_problems import FAMILY, PROBLEMS, sequences
from learners.test_learner_dca import linearised
from properties import examples
from scipy.optimize import minimize
from scipy.special import logsumexp
from tolerances import SINGLE, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.exact_dca import ExactDCA, ExactDCAConfig
from egparse.experiments.learners.frank_wolfe import (
    FrankWolfe,
    FrankWolfeConfig,
    Mixture,
    nearest_structure,
)
from egparse.experiments.learners.n_slack import NSlack, NSlackConfig
from egparse.experiments.learners.working_sets import WorkingSets
from egparse.learners.dca import DCA, DCAState
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.registry import build
from egparse.learners.sdca import (
    SDCA,
    SDCAConfig,
    SDCAState,
    _best_share,
    _divergence,
    _rise,
)
from egparse.types import Floats

INF = math.inf
HINGE = {"beta": INF, "gamma": 1.0}
LOG_LINEAR = {"beta": 1.0, "gamma": 0.0}
losses = pytest.mark.parametrize(("beta", "gamma"), FAMILY)
problems = pytest.mark.parametrize("name", PROBLEMS)
DIGITS = rounding(100, eps=SINGLE)
"""Marginals are stored in float32, in sums of up to 100 parts of an example."""
LEARNERS: list[tuple[str, dict[str, float], dict[str, Any], float]] = [
    ("sdca", LOG_LINEAR, {}, 1e-5),
    ("sdca", HINGE, {}, 1e-2),
    ("frank-wolfe", HINGE, {}, 5e-2),
    ("frank-wolfe", HINGE, {"sampling": "gap"}, 5e-2),
    ("frank-wolfe", HINGE, {"steps": "pairwise", "sampling": "gap"}, 1e-3),
    ("n-slack", HINGE, {"epsilon": 1e-5}, 1e-4),
    ("n-slack", HINGE, {"epsilon": 1e-5, "accumulate": 1}, 1e-4),
]
"""Name, loss, options, and the relative gap after 300 passes."""
learners = pytest.mark.parametrize(("name", "loss", "options", "gap"), LEARNERS)


@learners
@pytest.mark.parametrize(("seed", "c"), [(1, 2.0), (2, 2.0), (3, 0.3)])
def test_the_optimum_is_between_dual_and_primal_and_the_gap_closes(
    name: str, loss: dict[str, float], options: dict[str, Any], gap: float, seed: int, c: float
) -> None:
    problem = random_problem(seed)
    optimum = (max_margin_optimum if loss == HINGE else log_linear_optimum)(problem, c)
    learner: Any = build(name, problem, LearnerConfig(**loss, c=c), **options)
    state = learner.initialise(3.0)
    slack = (DIGITS * 10 + PROVEN) * optimum
    found = list(passes(learner, state, 300))
    assert all(b.dual >= a.dual - slack for a, b in itertools.pairwise(found))
    assert max(each.dual for each in found) <= optimum + slack
    assert min(each.primal for each in found) >= optimum - slack
    best = min(each.primal for each in found) - max(each.dual for each in found)
    assert best <= gap * optimum * (3 if c < 1 else 1)
    assert state.squared_norm == pytest.approx(squared_norm(problem), rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"steps": "pairwise"}], ids=str)
def test_frank_wolfe_keeps_distributions_and_v_is_their_dual_expression(
    options: dict[str, Any],
) -> None:
    problem = random_problem(4)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.3, **options))
    state = learner.initialise()
    visits = 20 * learner.n
    for k in range(visits):
        before = learner.dual(state)
        increase = learner.update(state, k % learner.n)
        assert learner.dual(state) - before == pytest.approx(increase, abs=1e-9)
        assert increase >= -1e-8
    v = np.zeros_like(problem.v)
    for i in range(learner.n):
        own = state.mixtures[problem.part_starts[i] : problem.part_starts[i + 1]]
        v += problem.features[i].T @ (problem.gold(i) - own)
        assert state.value[i] == pytest.approx(problem.expected_cost(i, own))
        if state.active:
            mixture = np.zeros(len(own))
            for parts, counts, weight in state.active[i].members.values():
                mixture[parts] += weight * counts
            np.testing.assert_allclose(own, mixture, atol=SINGLE * (visits + 1))
    np.testing.assert_allclose(problem.v, v, atol=rounding(4 * visits))


def proven_distance(problem: EnumeratedProblem, c: float, visits: int, optimum: float) -> float:
    """2 n (C_f + h_0) / (k + 2 n) after k visits, with curvatures C_f <= sum_i R_i^2 / C and
    the first distance h_0, from a dual of 0 (Lacoste-Julien et al. 2013, Theorem 2; in
    expectation, for plain steps on uniform draws).
    """
    n, curvature = len(problem.structures), 0.0
    for i in range(n):
        psi, _ = problem.differences(i)
        curvature += float(((psi[:, None] - psi[None]) ** 2).sum(axis=2).max()) / c
    return 2 * n * (curvature + optimum) / (visits + 2 * n)


@examples(6)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 2.0]))
def test_frank_wolfe_closes_in_as_fast_as_is_proven(seed: int, c: float) -> None:
    problem = random_problem(seed)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=c))
    optimum = max_margin_optimum(problem, c)
    *_, last = passes(learner, learner.initialise(), 60)
    allowed = proven_distance(problem, c, 60 * learner.n, optimum)
    assert optimum - last.dual <= allowed + DIGITS * optimum


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


def test_a_mixture_is_a_distribution() -> None:
    shapes, out = np.eye(3), np.empty(3)
    mixture = Mixture(shapes[0])
    mixture.move(shapes[0], -0.25)
    mixture.move(shapes[1], 0.25)
    assert mixture.worst(np.array([1.0, -1.0, 5.0]), out) == 0.25
    assert out.tolist() == [0.0, 1.0, 0.0]
    mixture.move(out, -0.25)
    assert len(mixture.members) == 1
    again = Mixture(shapes[2])
    again.restore(mixture.saved())
    assert again.worst(np.zeros(3), out) == 0.75


def learner_of(
    problem: Problem, beta: float = 1.0, gamma: float = 0.0, c: float = 2.0
) -> tuple[SDCA, SDCAState]:
    learner = SDCA(problem, SDCAConfig(beta=beta, gamma=gamma, c=c))
    return learner, learner.initialise(3.0)


@problems
@losses
@pytest.mark.parametrize("c", [0.3, 3.0])
def test_the_dual_never_falls_and_the_gap_closes(
    name: str, beta: float, gamma: float, c: float
) -> None:
    problem = PROBLEMS[name]()
    learner, state = learner_of(problem, beta, gamma, c)
    start = learner.certificate(state)
    before = learner.dual(state)
    for turn in range(150 * learner.n):
        rise = learner.update(state, turn % learner.n)
        now = learner.dual(state)
        size = 1.0 + abs(now)
        assert now - before == pytest.approx(rise, abs=DIGITS * size)
        assert rise >= -DIGITS * size
        before = now
    assert state.squared_norm == pytest.approx(squared_norm(problem), rel=1e-6)
    end = learner.certificate(state)
    assert end.gap >= -DIGITS * (1.0 + abs(end.dual))
    # linear where the entropy is strictly concave; for beta = inf Frank-Wolfe's O(1 / passes)
    assert end.gap <= (1e-4 if beta < INF else 0.1) * start.gap
    assert end.details["skipped"] == 0.0


def test_the_gap_is_the_sum_of_those_of_examples() -> None:
    """g_i = L_i - d_i - s'(mu_i - z_i), and primal - dual is their sum."""
    problem = random_problem(3)
    learner, state = learner_of(problem, 1.0, 1.0)
    for _ in range(3):
        learner.iterate(state)
    total = 0.0
    for i in range(learner.n):
        scores = problem.scores(i) / 2.0
        expected = np.empty(len(scores))
        loss = learner.loss.value(problem, i, scores, expected)
        mu = state.marginals[problem.part_starts[i] : problem.part_starts[i + 1]]
        gap = loss - state.value[i] - float(scores @ (mu - problem.gold(i)))
        assert gap >= -DIGITS
        total += gap
    assert learner.certificate(state).gap == pytest.approx(total, rel=1e-6)


def two_distributions(seed: int) -> tuple[Floats, Floats, Floats]:
    """Part vectors of all choices among 2 x 3 parts, and two distributions over these."""
    random = np.random.default_rng(seed)
    table = np.array([np.concatenate([a, b]) for a, b in itertools.product(np.eye(2), np.eye(3))])
    return table, random.dirichlet(np.full(6, 0.5)), random.dirichlet(np.full(6, 0.5))


def entropy(p: Floats) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


@pytest.mark.parametrize("seed", range(20))
def test_mixing_adds_at_least_the_divergence_of_one_group(seed: int) -> None:
    table, first, second = two_distributions(seed)
    groups = np.array([0, 0, 1, 1, 1], dtype=np.int16)
    for share in (0.01, 0.3, 0.9):
        mixed = (1 - share) * first + share * second
        added = entropy(mixed) - (1 - share) * entropy(first) - share * entropy(second)
        for group in (0, 1):
            value, slope, curvature = _divergence(
                first @ table, second @ table, groups, group, share
            )
            assert 0.0 <= value <= added + 1e-12
            step = 1e-5
            above, below = (
                _divergence(first @ table, second @ table, groups, group, share + side)[0]
                for side in (step, -step)
            )
            assert slope == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-7)
            assert curvature <= 0.0


def test_a_group_without_a_part_has_one_more_choice() -> None:
    """Marginals of 0.2 and 0.6 of the only part of a group: a coin."""
    value, _, _ = _divergence(np.array([0.2]), np.array([0.6]), np.zeros(1, dtype=np.int16), 0, 0.5)
    coins = [entropy(np.array([p, 1 - p])) for p in (0.4, 0.2, 0.6)]
    assert value == pytest.approx(coins[0] - (coins[1] + coins[2]) / 2)


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("bend", [0.0, 0.3, 3.0, 300.0])
@pytest.mark.parametrize("temperature", [0.0, 0.2, 1.0])
def test_line_search_finds_the_best_share(
    independent: bool, bend: float, temperature: float
) -> None:
    groups, room = np.array([0, 0, 1, 1, 1], dtype=np.int16), np.empty(7)
    for seed in range(5):
        table, first, second = two_distributions(seed)
        direction = (first @ table, second @ table, 0.5, temperature, groups, independent, bend)
        share = _best_share(*direction, room)
        grid = np.linspace(0, 1, 1001)
        most = max(_rise(*direction, float(t), room) for t in grid)
        assert 0.0 <= share <= 1.0
        assert _rise(*direction, share, room) >= most * (1 - 1e-3)


def test_independent_choices_have_their_entropy() -> None:
    """Where groups are independent, the kept value is the entropy itself."""
    problem = sequences(bigrams=False)
    learner, state = learner_of(problem)
    for _ in range(4):
        learner.iterate(state)
    for i in range(learner.n):
        mu = state.marginals[problem.part_starts[i] : problem.part_starts[i + 1]]
        assert state.value[i] == pytest.approx(entropy(mu.astype(np.float64)), abs=1e-5)


def test_kept_values_are_below_the_entropy() -> None:
    """Of any distribution with these marginals the greatest entropy is min over theta of log Z -
    theta'mu: no theta gives less than the kept h.
    """
    problem = random_problem(1)
    learner, state = learner_of(problem)
    random = np.random.default_rng(1)
    for _ in range(5):
        learner.iterate(state)
    for i in range(learner.n):
        mu = state.marginals[problem.part_starts[i] : problem.part_starts[i + 1]]
        for theta in random.normal(scale=2.0, size=(50, len(mu))):
            log_z = float(logsumexp(problem.structures[i] @ theta))
            assert state.value[i] <= log_z - float(theta @ mu) + DIGITS * 100


def test_losses_below_zero_are_skipped_and_counted() -> None:
    class Underestimated(EnumeratedProblem):
        def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
            return super().marginals(i, potentials, out) - 20.0

    plain = random_problem(1)
    learner, state = learner_of(Underestimated(plain.structures, plain.features))
    state.value[:] = 0.0
    learner.iterate(state)
    assert learner.certificate(state).details["skipped"] == learner.n


def test_working_sets_solve_their_program() -> None:
    """Against an independent solver, over all structures of a few examples."""
    random, c = np.random.default_rng(5), 0.7
    psi, costs = random.integers(-2, 3, size=(3, 4, 5)).astype(float), random.random((3, 4)) * 3
    sets = WorkingSets(3, 5, c)
    for i, k in itertools.product(range(3), range(4)):
        used = np.flatnonzero(psi[i, k])
        sets.include(i, costs[i, k], used, psi[i, k][used], weight=float(k == 0))
    assert sets.solve(1e-8)

    def value(alpha: np.ndarray) -> float:
        v = np.einsum("ik,ikf->f", alpha.reshape(3, 4), psi)
        return -float(alpha @ costs.ravel()) + float(v @ v) / (2 * c)

    sums = {"type": "eq", "fun": lambda alpha: alpha.reshape(3, 4).sum(axis=1) - 1}
    best = minimize(
        value, np.full(12, 0.25), bounds=[(0, 1)] * 12, constraints=sums, options={"ftol": 1e-14}
    )
    assert sets.value() - float(sets.v @ sets.v) / (2 * c) == pytest.approx(-best.fun, rel=1e-6)


def test_working_sets_end_at_what_epsilon_allows() -> None:
    """Outside the working sets no structure is violated by more than epsilon, and within them no
    structure with weight is below the slack by more than epsilon / 2: 1.5 n epsilon in all.
    """
    problem = random_problem(2)
    learner = NSlack(problem, NSlackConfig(c=0.2, epsilon=1e-4))
    state = learner.initialise()
    while not state.finished:
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.gap <= 1.5 * learner.n * 1e-4 + rounding(100, certificate.dual, SINGLE)


@pytest.mark.compiled_only
@pytest.mark.parametrize("slice_name", EACH)
def test_agreement_of_hinges_on_sentences(slice_name: str) -> None:
    config = LearnerConfig(**HINGE, c=100.0)
    certificates = []
    for name in ("n-slack", "eg-online", "frank-wolfe"):
        learner = build(
            name,
            SLICES[slice_name](),
            config,
            **({"steps": "pairwise"} if name == "frank-wolfe" else {}),
        )
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


def exact_of(
    problem: Problem, beta: float = 1.0, gamma: float = 0.0, c: float = 2.0, averaged: bool = True
) -> tuple[DCA, DCAState]:
    config = ExactDCAConfig(beta=beta, gamma=gamma, c=c, averaged=averaged, subproblem="exact")
    learner = ExactDCA(problem, config)
    return learner, learner.initialise()


def objective_of_step(
    problem: EnumeratedProblem, i: int, loss: Loss, c: float, w: Floats, at: Floats
) -> float:
    """Eq. 11 at w' = ``at``."""
    scores = problem.features[i] @ at
    value = loss.value(problem, i, scores, np.empty(len(scores)))
    return value + c / 2 * float((at - w) @ (at - w))


@losses
@pytest.mark.parametrize("c", [0.3, 3.0])
def test_exact_subproblem_has_the_least_objective(beta: float, gamma: float, c: float) -> None:
    """Eq. 11 at the exact step, against a general minimiser, and against eq. 15."""
    problem = random_problem(3)
    learner, state = exact_of(problem, beta, gamma, c, averaged=False)
    loss, gained = Loss(beta, gamma), 0
    for i in range(0, learner.n, 3):
        w = problem.v.copy()
        value, gradient, norm = linearised(problem, i, loss)
        promised = learner.update(state, i)
        exact = objective_of_step(problem, i, loss, c, w, problem.v)
        closed = w - (min(1 / c, value / norm) if norm > 0 else 0.0) * gradient
        by_eq_15 = objective_of_step(problem, i, loss, c, w, closed)
        least = minimize(
            lambda at, i=i, w=w: objective_of_step(problem, i, loss, c, w, at),
            problem.v,
            method="Nelder-Mead",
            options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 4000, "maxfev": 4000},
        ).fun
        # a visit ends with a step that gains a thousandth of the loss; with the hinge loss many
        # such steps may be left
        slack = (0.02 if beta < np.inf else 0.1) * value + 1e-9
        assert exact <= least + slack
        assert exact <= by_eq_15 + slack
        # weak duality: the dual rises by no more than the least objective
        assert promised <= least + 1e-6 * (1 + value)
        gained += exact < by_eq_15 - 1e-3 * value
    assert gained > 0 or c == 3.0


def test_exact_subproblem_reaches_the_optimum_of_one_example() -> None:
    """With one example and one pass, eq. 11 is the whole problem."""
    whole = random_problem(2)
    problem = EnumeratedProblem(whole.structures[:1], whole.features[:1])
    learner, state = exact_of(problem, c=0.5, averaged=False)
    learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.primal == pytest.approx(log_linear_optimum(problem, 0.5), rel=5e-3)
    assert certificate.effective_iterations > 1


@pytest.mark.parametrize("name", ["frank-wolfe", "n-slack", "sdca"])
def test_what_cannot_be_learned_is_named(name: str) -> None:
    if name != "sdca":
        for beta, gamma in [(1.0, 0.0), (INF, 0.0), (INF, 2.0)]:
            with pytest.raises(ConfigError, match=r"expects? the loss max-margin"):
                build(name, random_problem(3), LearnerConfig(beta=beta, gamma=gamma))
    with pytest.raises(ConfigError, match="expected c > 0"):
        build(name, random_problem(3), LearnerConfig(**HINGE, c=0.0))
    problem = random_problem(4)
    problem.features[2][0, 0] = np.inf
    learner = build(name, problem, LearnerConfig(**HINGE))
    with np.errstate(invalid="ignore"), pytest.raises(EgparseError, match=r"expected a .*finite"):
        list(passes(learner, learner.initialise(), 5))
