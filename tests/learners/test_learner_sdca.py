"""Dual coordinate ascent that remembers its variables: a dual that never falls and says by how much
it rises, values below the entropy, and the pieces of a step.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from learners.enumerated import EnumeratedProblem, random_problem
from learners.small_problems import FAMILY, PROBLEMS, sequences
from scipy.special import logsumexp
from tolerances import SINGLE, rounding

from egparse.learners.problem import Problem, squared_norm
from egparse.learners.sdca import SDCA, SDCAConfig, SDCAState, _best_share, _divergence, _rise
from egparse.types import Floats

INF = math.inf
DIGITS = rounding(100, eps=SINGLE)
"""Marginals are stored in float32, in sums of up to 100 parts of an example."""


def learner_of(
    problem: Problem, beta: float = 1.0, gamma: float = 0.0, c: float = 2.0
) -> tuple[SDCA, SDCAState]:
    learner = SDCA(problem, SDCAConfig(beta=beta, gamma=gamma, c=c))
    return learner, learner.initialise(3.0)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
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
