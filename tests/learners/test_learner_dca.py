"""Dual coordinate ascent: its step, what it promises of the dual, its average, and losses that come
out below zero.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.enumerated import (
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.small_problems import FAMILY, PROBLEMS, trees
from structures.test_arc_graph import listed, random_graph
from structures.test_loopy import near_exact, propagated
from tolerances import eps_of, rounding

from egparse.errors import EgparseError
from egparse.learners.dca import DCA, DCAConfig, DCAState
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, read, squared_norm, write
from egparse.structures.second_order.arc_graph import mark_tree
from egparse.structures.second_order.loopy import Schedule
from egparse.structures.second_order.projective_log import best_tree
from egparse.types import Floats

INF = math.inf
losses = pytest.mark.parametrize(("beta", "gamma"), FAMILY)
problems = pytest.mark.parametrize("name", PROBLEMS)


def learner_of(
    problem: Problem, beta: float = 1.0, gamma: float = 0.0, c: float = 2.0, **options: object
) -> tuple[DCA, DCAState]:
    config = DCAConfig(beta=beta, gamma=gamma, c=c, **options)  # type: ignore[arg-type]
    learner = DCA(problem, config)
    return learner, learner.initialise()


def linearised(problem: Problem, i: int, loss: Loss) -> tuple[float, Floats, float]:
    """L_i, F_i'(zbar - z) as a whole vector, and its squared norm, from a twin."""
    scores = problem.scores(i).copy()
    expected = np.empty(len(scores))
    value = loss.value(problem, i, scores, expected)
    twin = problem.with_own_weights()
    norm = twin.add(i, expected - problem.gold(i))
    return value, read(twin), norm


@problems
@losses
@pytest.mark.parametrize("c", [0.3, 30.0])
def test_step_is_that_of_the_paper(name: str, beta: float, gamma: float, c: float) -> None:
    problem = PROBLEMS[name]()
    learner, state = learner_of(problem, beta, gamma, c)
    # scores sum up to 100 weights in the problem's precision; eta is a quotient of them
    digits = rounding(100, eps=eps_of(problem))
    capped = set()
    for turn in range(4 * learner.n):
        i = turn % learner.n
        before = read(problem)
        loss, gradient, norm = linearised(problem, i, Loss(beta, gamma))
        eta = min(1 / c, loss / norm) if norm > 0 else 0.0
        learner.update(state, i)
        np.testing.assert_allclose(
            read(problem), before - eta * gradient, rtol=digits, atol=digits / c
        )
        assert state.squared_norm == pytest.approx(squared_norm(problem), rel=1e-9, abs=1e-12)
        if norm > 0:
            capped.add(eta == 1 / c)
    if c == 30.0:
        assert True in capped
    else:
        assert False in capped


@losses
@pytest.mark.parametrize("c", [0.3, 3.0])
def test_the_dual_rises_by_what_is_promised(beta: float, gamma: float, c: float) -> None:
    """-L*(mu) at mu = eta C g is at least the value of the mixture of gold and zbar's distribution,
    of which mu is the gradient.
    """
    problem = random_problem(3)
    learner, state = learner_of(problem, beta, gamma, c)
    for turn in range(4 * learner.n):
        i = turn % learner.n
        w = problem.v.copy()
        _, gradient, norm = linearised(problem, i, Loss(beta, gamma))
        promised = learner.update(state, i)
        assert promised >= 0
        differences, costs = problem.differences(i)
        potentials = differences @ w + gamma * costs
        if math.isfinite(beta):
            distribution = np.exp(beta * (potentials - potentials.max()))
            distribution /= distribution.sum()
        else:
            distribution = np.eye(len(potentials))[potentials.argmax()]
        share = c * float((w - problem.v) @ gradient) / norm if norm > 0 else 0.0
        mixture = share * distribution
        mixture[0] += 1 - share
        used = mixture[mixture > 0]
        value = gamma * float(mixture @ costs) - float(used @ np.log(used)) / beta
        risen = value - c / 2 * (float(problem.v @ problem.v) - float(w @ w))
        assert risen >= promised - 1e-9


@pytest.mark.parametrize("seed", [1, 2])
def test_lower_bound_of_the_optimum(seed: int) -> None:
    cases = [(1.0, 0.0, log_linear_optimum), (INF, 1.0, max_margin_optimum)]
    for beta, gamma, optimum in cases:
        problem = random_problem(seed)
        learner, state = learner_of(problem, beta, gamma, c=2.0)
        lowest = optimum(problem, 2.0)
        for _ in range(5):
            learner.iterate(state)
            certificate = learner.certificate(state)
            assert 0.3 * lowest < certificate.details["lower_bound"] <= lowest
            assert certificate.primal >= lowest
            assert certificate.details["dual_increase"] >= 0
            assert certificate.dual == -INF


@problems
def test_average_is_the_mean_of_the_weights_before_updates(name: str) -> None:
    problem = PROBLEMS[name]()
    learner, state = learner_of(problem, INF, 1.0)
    seen = []
    for turn in range(3 * learner.n):
        seen.append(read(problem))
        learner.update(state, turn % learner.n)
    last = [array.tobytes() for array in problem.vectors()]
    with learner.model_weights(state):
        np.testing.assert_allclose(read(problem), np.mean(seen, axis=0), rtol=1e-5, atol=2e-6)
        inside = read(problem)
        with learner.model_weights(state):
            assert (read(problem) == inside).all()
    assert [array.tobytes() for array in problem.vectors()] == last
    with pytest.raises(KeyError), learner.model_weights(state):
        raise KeyError
    assert [array.tobytes() for array in problem.vectors()] == last


def test_without_averaging_the_model_is_the_last_one() -> None:
    problem = random_problem(2)
    learner, state = learner_of(problem, averaged=False)
    learner.iterate(state)
    v = problem.v.copy()
    with learner.model_weights(state):
        assert (problem.v == v).all()


def test_certificate_is_of_the_exposed_weights() -> None:
    problem = random_problem(2)
    learner, state = learner_of(problem, c=2.0)
    online = 0.0
    for i in np.random.default_rng(1).permutation(learner.n):
        online += linearised(problem, int(i), Loss())[0]
        learner.update(state, int(i))
    mean = online / learner.n
    learner, state = learner_of(problem, c=2.0)
    learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.details["online_loss"] == pytest.approx(mean, rel=1e-12)
    with learner.model_weights(state):
        loss = sum(linearised(problem, i, Loss())[0] for i in range(learner.n))
        assert certificate.primal == pytest.approx(loss + squared_norm(problem), rel=1e-12)
    assert certificate.effective_iterations == 1.0


class Underestimated(EnumeratedProblem):
    """Inference that finds too little: log Z and the maximum come out smaller than they are, and
    the paper would not learn.
    """

    short = 20.0

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        return super().marginals(i, potentials, out) - self.short

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        return super().argmax(i, potentials, out) - self.short


def true_objective(problem: EnumeratedProblem, c: float) -> float:
    exact = EnumeratedProblem(problem.structures, problem.features)
    exact.v[:] = problem.v
    loss = sum(linearised(exact, i, Loss())[0] for i in range(len(exact.structures)))
    return loss + c / 2 * float(exact.v @ exact.v)


def test_negative_losses_still_teach() -> None:
    plain = random_problem(1)
    problem = Underestimated(plain.structures, plain.features)
    learner, state = learner_of(problem, c=2.0)
    start = true_objective(problem, 2.0)
    learner.iterate(state)
    details = learner.certificate(state).details
    assert details["negative"] == learner.n
    assert details["skipped"] == sum(not plain.gold(i).any() for i in range(learner.n))
    assert details["dual_increase"] > 0
    learner.iterate(state)
    optimum = log_linear_optimum(plain, 2.0)
    with learner.model_weights(state):
        assert true_objective(problem, 2.0) - optimum < 0.65 * (start - optimum)


def test_negative_margins_are_passed_over_and_counted() -> None:
    plain = random_problem(1)
    learner, state = learner_of(Underestimated(plain.structures, plain.features), INF, 1.0)
    learner.iterate(state)
    details = learner.certificate(state).details
    assert details["negative"] == details["skipped"] == learner.n
    assert state.squared_norm == 0


@problems
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (3.0, 2.0)])
def test_marginals_bound_the_loss(name: str, beta: float, gamma: float) -> None:
    problem = PROBLEMS[name]()
    learner, _ = learner_of(problem, beta, gamma)
    random = np.random.default_rng(1)
    for scale in (0.0, 0.3, 3.0):
        write(problem, scale * random.normal(size=len(read(problem))))
        for i in range(learner.n):
            scores = problem.scores(i)
            expected = np.empty(len(scores))
            loss = learner.loss.value(problem, i, scores, expected)
            assert 0 <= learner._estimate_from_marginals(problem.gold(i), expected) <= loss + 1e-9


def test_a_correct_tree_that_inference_excludes_is_learned_until_it_wins() -> None:
    """With crossing arcs the loss of a projective model has no lower bound; its bound from
    marginals teaches all the same.
    """
    problem = trees(chains=False)
    learner, state = learner_of(problem, c=5.0)
    negative = 0.0
    for _ in range(30):
        learner.iterate(state)
        negative += learner.certificate(state).details["negative"]
    assert negative > 0
    scores = problem.scores(2)
    expected = np.empty(len(scores))
    problem.marginals(2, scores, expected)
    assert expected[problem.gold(2) > 0].sum() > 2.0  # of 4 words


def test_nothing_to_learn_is_counted() -> None:
    only = EnumeratedProblem([np.eye(3), np.ones((1, 2))], [np.zeros((3, 2)), np.ones((2, 2))])
    learner, state = learner_of(only)
    learner.iterate(state)
    details = learner.certificate(state).details
    assert details["skipped"] == 1  # no features: a loss, and no gradient
    assert details["passive"] == 1  # one structure only: no loss
    assert state.squared_norm == 0


def test_weights_that_are_no_numbers_are_an_error() -> None:
    learner, state = learner_of(random_problem(1))
    learner.problem.v[:] = np.nan  # type: ignore[attr-defined]
    with pytest.raises(
        EgparseError, match="dual coordinate ascent: expected a finite loss of example 0, got nan"
    ):
        learner.update(state, 0)


@losses
@pytest.mark.parametrize("a", [0.5, 3.0])
def test_losses_that_are_the_same_problem(beta: float, gamma: float, a: float) -> None:
    """Martins et al. 2010, footnote 18: (lambda, beta, gamma) and (lambda / a, beta / a, a gamma)
    have solutions w and a w. The steps of the algorithm are the same too.
    """
    found = []
    for factor in (1.0, a):
        problem = random_problem(1)
        learner, state = learner_of(problem, beta / factor, gamma * factor, c=2.0 / factor)
        for _ in range(3):
            learner.iterate(state)
        with learner.model_weights(state):
            found.append(read(problem))
    np.testing.assert_allclose(found[1], a * found[0], rtol=1e-9, atol=1e-12)


def test_negative_losses_are_skipped_where_asked() -> None:
    plain = random_problem(1)
    problem = Underestimated(plain.structures, plain.features)
    learner, state = learner_of(problem, below_zero="skip")
    learner.iterate(state)
    details = learner.certificate(state).details
    assert details["negative"] == details["skipped"] == learner.n
    assert state.squared_norm == 0


def test_pseudo_marginals_do_not_bound_the_loss() -> None:
    """The best tree of random graphs, by enumeration: where its Bethe loss is below zero, the
    estimate by the pseudo-marginals is nearly always above its true loss.
    """
    below = above = 0
    for seed in range(200):
        graph = random_graph(5, 4, seed)
        potentials = near_exact(graph, 2.0, seed)
        outcome, marginals = propagated(graph, potentials, True, schedule=Schedule())
        heads, tree = np.zeros(6, dtype=np.int32), np.zeros(len(potentials))
        if outcome.log_partition >= best_tree(graph, potentials, True, heads):
            continue
        facts = listed(graph, potentials, True)
        assert outcome.log_partition < facts.ranked[0] <= facts.log_partition
        mark_tree(graph, heads, tree)
        estimate = -math.log(max(1e-300, float(marginals[tree > 0].min())))
        below += 1
        above += estimate > facts.log_partition - facts.ranked[0]
    assert below >= 5
    assert above >= 0.9 * below
