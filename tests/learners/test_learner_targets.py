"""Learning from distributions: the laws of targets, against enumeration and independent solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from learners.enumerated import PROVEN, EnumeratedProblem, log_linear_optimum, random_problem
from learners.small_problems import sequences, trees
from scipy.optimize import minimize
from scipy.special import logsumexp

from egparse.errors import ConfigError
from egparse.learners.completion import (
    CompletingLearner,
    complete,
    set_completion,
)
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.offset_problem import OffsetProblem
from egparse.learners.problem import Problem, read
from egparse.learners.registry import FROM_DISTRIBUTIONS, build
from egparse.types import Floats, Longs, Mask

EXACT = ("eg-online", "eg-cyclic", "eg-batch", "lbfgs", "cg")
"""Learners that prove their optimum."""


class Targets(EnumeratedProblem):
    """An enumerated problem with targets, of which some examples may allow some parts only."""

    def __init__(self, structures: list[Floats], features: list[Floats]) -> None:
        super().__init__(structures, features)
        self.targets = [own[0].copy() for own in structures]
        self.masks: dict[int, Mask] = {}
        self.partial: Longs = np.zeros(0, dtype=np.int64)

    def gold(self, i: int) -> Floats:
        return self.targets[i]

    def set_target(self, i: int, target: Floats) -> float:
        self.targets[i] = np.array(target)
        return 0.0

    def allowed(self, i: int) -> Mask:
        return self.masks[i]

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        possible = ~np.any((self.structures[i] > 0) & (potentials == -np.inf), axis=1)
        finite = np.where(potentials == -np.inf, 0.0, potentials)
        scores = np.where(possible, self.structures[i] @ finite, -np.inf)
        log_z = float(logsumexp(scores))
        out[:] = np.exp(scores - log_z) @ self.structures[i]
        return log_z

    def with_own_weights(self) -> Targets:
        other = Targets(self.structures, self.features)
        other.targets, other.masks, other.partial = self.targets, self.masks, self.partial
        return other


def problem_with_targets(seed: int, copies: int = 1) -> Targets:
    plain = random_problem(seed)
    return Targets(plain.structures * copies, plain.features * copies)


def mixtures(problem: Targets, seed: int) -> list[Floats]:
    """The distribution over the structures of each example: some mass on each of two."""
    random = np.random.default_rng(seed)
    found = []
    for own in problem.structures:
        weights = np.zeros(len(own))
        share = random.uniform(0.2, 0.8)
        weights[0] += share
        weights[random.integers(len(own))] += 1 - share
        found.append(weights)
    return found


def cross_entropy_optimum(problem: Targets, distributions: list[Floats], c: float) -> float:
    """min sum_i E_q_i -log p(y) + C/2 |w|^2, from all structures, by L-BFGS."""

    def objective(w: Floats) -> tuple[float, Floats]:
        value, gradient = c / 2 * float(w @ w), c * w
        for own, features, q in zip(
            problem.structures, problem.features, distributions, strict=True
        ):
            rows = own @ features
            scores = rows @ w
            log_z = logsumexp(scores)
            value += float(q @ (log_z - scores))
            gradient = gradient + (np.exp(scores - log_z) - q) @ rows
        return value, gradient

    start = np.zeros(len(problem.v))
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    assert found.jac @ found.jac / (2 * c) <= PROVEN * found.fun
    return float(found.fun)


def trained(
    name: str, problem: Problem, c: float = 2.0, passes: int = 400, **options: object
) -> float:
    learner = build(name, problem, LearnerConfig(c=c), **options)
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
        certificate = learner.certificate(state)
        assert certificate.gap >= -1e-5 * (1 + abs(certificate.primal))
        if certificate.relative_gap < 1e-5:
            break
    assert certificate.relative_gap < 1e-4
    return float(certificate.primal)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_gap_closes_at_the_optimum_of_the_cross_entropy(name: str, seed: int) -> None:
    problem = problem_with_targets(seed)
    distributions = mixtures(problem, seed)
    for i, q in enumerate(distributions):
        problem.set_target(i, q @ problem.structures[i])
    optimum = cross_entropy_optimum(problem, distributions, 2.0)
    assert trained(name, problem) == pytest.approx(optimum, rel=2e-4)


@pytest.mark.parametrize("name", EXACT)
def test_a_mixture_of_two_structures_is_two_copies_of_half_the_weight(name: str) -> None:
    """sum_i (L_i(w; y) + L_i(w; y')) / 2 + C/2 |w|^2 has half the objective of the corpus with
    both copies and 2 C.
    """
    mixed, doubled = problem_with_targets(3), problem_with_targets(3, copies=2)
    n = len(mixed.structures)
    for i, own in enumerate(mixed.structures):
        mixed.set_target(i, (own[0] + own[-1]) / 2)
        doubled.set_target(n + i, own[-1])
    assert trained(name, mixed, c=2.0) == pytest.approx(trained(name, doubled, c=4.0) / 2, rel=2e-4)


@pytest.mark.parametrize("name", FROM_DISTRIBUTIONS)
@pytest.mark.parametrize("make", [sequences, trees])
def test_point_targets_change_no_bit(name: str, make: type) -> None:
    weights = []
    for retargets in (False, True):
        problem = make()
        assert isinstance(problem, Problem)
        learner = build(name, problem, LearnerConfig(c=5.0))
        state = learner.initialise()
        for _ in range(3):
            if retargets:
                points = {i: problem.gold(i).copy() for i in range(len(problem.part_starts) - 1)}
                for i, target in points.items():
                    problem.set_target(i, target)
            learner.iterate(state)
        weights.append(read(problem))
    assert np.array_equal(*weights)


@pytest.mark.parametrize(
    ("name", "with_base"),
    [
        pytest.param(name, own, marks=[pytest.mark.nightly] * (name not in ("eg-online", "lbfgs")))
        for name, own in zip(EXACT, itertools.cycle([True, False]), strict=False)
    ],
)
def test_a_learner_whose_targets_change_goes_on_to_the_optimum_of_the_new_ones(
    name: str, with_base: bool
) -> None:
    """Also with the fixed scores of a base, which are part of what EG stores of an example."""

    def learned(targets_first: bool) -> float:
        inner = problem_with_targets(4)
        targets = {
            i: q @ own
            for i, (q, own) in enumerate(zip(mixtures(inner, 5), inner.structures, strict=True))
        }
        if targets_first:
            for i, target in targets.items():
                inner.set_target(i, target)
        offsets = np.random.default_rng(1).normal(size=int(inner.part_starts[-1]))
        problem = OffsetProblem(inner, offsets, beta=1.0, gamma=0.0) if with_base else inner
        learner = build(name, problem, LearnerConfig(c=2.0))
        state = learner.initialise()
        for _ in range(3):
            learner.iterate(state)
        if not targets_first:
            assert isinstance(learner, Learner)
            learner.retarget(state, targets)
        for _ in range(400):
            learner.iterate(state)
        certificate = learner.certificate(state)
        assert abs(certificate.relative_gap) < 1e-4
        return float(certificate.primal)

    assert learned(False) == pytest.approx(learned(True), rel=2e-4)


def test_v_equals_its_dual_expression_after_a_change_of_targets() -> None:
    problem = trees()
    learner = build("eg-online", problem, LearnerConfig(c=5.0))
    state = learner.initialise()
    learner.iterate(state)
    target = np.empty_like(problem.gold(2))
    problem.marginals(2, np.zeros(len(target)), target)
    learner.retarget(state, {2: target.copy()})
    v = read(problem)
    assert state.squared_norm == pytest.approx(float(v @ v), rel=1e-5)
    other = problem.with_own_weights()
    for i in range(len(problem.part_starts) - 1):
        own = slice(problem.part_starts[i], problem.part_starts[i + 1])
        other.add(i, problem.gold(i) - state.marginals[own])
    # a few updates in float32 a weight
    np.testing.assert_allclose(v, read(other), atol=64 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("make", [sequences, trees])
def test_problems_keep_the_target_they_are_given(make: type) -> None:
    problem = make()
    target = np.empty_like(problem.gold(0))
    problem.marginals(0, np.linspace(0, 1, len(target)), target)
    assert problem.set_target(0, target) == 0.0
    assert np.array_equal(problem.gold(0), target)
    assert np.array_equal(problem.with_own_weights().gold(0), target)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
@pytest.mark.parametrize("make", [sequences, trees])
def test_the_loss_of_a_target_is_at_least_its_value_there(
    make: type, beta: float, gamma: float
) -> None:
    """L is a maximum over marginal vectors, of which the target is one with a value >= 0."""
    random, problem = np.random.default_rng(3), make()
    for i in range(len(problem.part_starts) - 1):
        target = np.empty_like(problem.gold(i))
        problem.marginals(i, random.normal(size=len(target)), target)
        problem.set_target(i, target)
        expected = np.empty_like(target)
        scores = random.normal(size=len(target))
        assert Loss(beta, gamma).value(problem, i, scores, expected) > -1e-9


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_dca_estimates_a_loss_from_marginals_by_a_lower_bound(share: float) -> None:
    """Every bound on a single part holds for the true cross entropy."""
    problem = problem_with_targets(7)
    learner = build("dca", problem, LearnerConfig(c=2.0))
    random = np.random.default_rng(7)
    for i, own in enumerate(problem.structures):
        target = share * own[0] + (1 - share) * own[-1]
        problem.set_target(i, target)
        scores, expected = random.normal(size=own.shape[1]), np.empty(own.shape[1])
        loss = problem.marginals(i, scores, expected) - float(scores @ target)
        assert learner._estimate_from_marginals(target, expected) <= loss + 1e-9


def half_annotated(seed: int) -> Targets:
    """Every third example has one part that is known to be there or not, and no more."""
    problem = problem_with_targets(seed)
    partial = []
    for i, own in enumerate(problem.structures):
        if i % 3 == 0:
            mask = np.ones(own.shape[1], dtype=bool)
            mask[np.flatnonzero(own[0] == 0)[:1]] = False
            problem.masks[i] = mask
            partial.append(i)
    problem.partial = np.array(partial, dtype=np.int64)
    return problem


def annotation_loss(problem: Targets, w: Floats, c: float) -> float:
    """sum_i log Z - log Z of the completions + C/2 |w|^2, from all structures."""
    value = c / 2 * float(w @ w)
    for i, (own, features) in enumerate(zip(problem.structures, problem.features, strict=True)):
        scores = own @ features @ w
        agrees = np.zeros(len(own), dtype=bool)
        agrees[0] = True
        if i in problem.masks:
            agrees = ~np.any((own > 0) & ~problem.masks[i], axis=1)
        value += float(logsumexp(scores) - logsumexp(scores[agrees]))
    return value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name not in ("eg-online", "lbfgs")))
        for name in (*EXACT, "sgd")
    ],
)
def test_passes_over_partial_annotation_lead_to_a_stationary_point_of_its_likelihood(
    name: str,
) -> None:
    problem = half_annotated(6)
    assert isinstance(problem, Problem)
    learner = CompletingLearner(build(name, problem, LearnerConfig(c=2.0)), problem, 1.0)
    state = learner.initialise()
    for _ in range(60 if name in ("lbfgs", "cg") else 400):
        learner.iterate(state)
        learner.certificate(state)
    w = read(problem) * state.scale
    value = annotation_loss(problem, w, 2.0)
    for d in range(len(w)):
        step = np.zeros(len(w))
        step[d] = 1e-4
        slope = (
            annotation_loss(problem, w + step, 2.0) - annotation_loss(problem, w - step, 2.0)
        ) / 2e-4
        # the slopes at the start are of the order of 10; the rates of SGD fall as 1 / passes
        assert abs(slope) < (0.2 if name == "sgd" else 0.02)
    start = annotation_loss(problem, np.zeros(len(w)), 2.0)
    assert value < start


def test_exact_em_never_raises_the_loss_of_the_annotation() -> None:
    """With inner problems solved to their end, as the concave-convex procedure has it."""
    problem, before = half_annotated(8), math.inf
    learner = CompletingLearner(build("lbfgs", problem, LearnerConfig(c=1.0)), problem, 1.0)
    state = learner.initialise()
    for _ in range(12):
        learner.complete(state)
        for _ in range(100):
            learner.learner.iterate(state)
        value = annotation_loss(problem, read(problem), 1.0)
        assert value <= before + 1e-9 * abs(value)
        before = value


def test_completions_of_sequences_are_those_that_agree() -> None:
    """Marginals over completions, against all label sequences written out."""
    problem, starts = sequences(listed=False), [0, 3, 4, 9, 13, 15]
    whole = [problem.gold(i).copy() for i in range(5)]
    random = np.random.default_rng(2)
    for i, correct in enumerate(whole):
        n = starts[i + 1] - starts[i]
        allowed = np.ones((n, 4), dtype=bool)
        known = random.random(n) < 0.5
        labels = correct[: 4 * n].reshape(n, 4).argmax(axis=1)
        allowed[known] = False
        allowed[np.flatnonzero(known), labels[known]] = True
        mask = np.ones(len(correct), dtype=bool)
        mask[: 4 * n] = allowed.reshape(-1)
        problem.allowed = lambda _, mask=mask: mask  # type: ignore[method-assign, misc]
        potentials, out = random.normal(size=len(correct)), np.empty(len(correct))
        log_z = complete(problem, i, potentials, out)
        total, expected = [], np.zeros(4 * n)
        for path in itertools.product(range(4), repeat=n):
            if not all(allowed[k, label] for k, label in enumerate(path)):
                continue
            score = sum(potentials[4 * k + label] for k, label in enumerate(path))
            bigrams = potentials[4 * n :].reshape(4, 4)
            score += sum(bigrams[a, b] for a, b in itertools.pairwise(path))
            total.append(score)
            for k, label in enumerate(path):
                expected[4 * k + label] += math.exp(score)
        assert log_z == pytest.approx(float(logsumexp(total)))
        np.testing.assert_allclose(out[: 4 * n], expected / np.exp(total).sum(), atol=1e-9)


def test_a_sentence_without_a_completion_keeps_its_target() -> None:
    problem = trees()
    before = problem.gold(2).copy()
    problem.allowed = lambda i: np.zeros(len(problem.gold(i)), dtype=bool)  # type: ignore[method-assign]
    set_completion(problem, 2, np.zeros(len(before)))
    assert np.array_equal(problem.gold(2), before)


def test_log_linear_optimum_of_points_is_that_of_the_oracle() -> None:
    """The two independent solvers agree where targets are points."""
    problem = problem_with_targets(2)
    points = [np.eye(len(own))[0] for own in problem.structures]
    assert cross_entropy_optimum(problem, points, 2.0) == pytest.approx(
        log_linear_optimum(random_problem(2), 2.0), rel=1e-8
    )


def test_what_cannot_learn_from_distributions_is_refused() -> None:
    plain = random_problem(1)
    learner = build("eg-online", plain, LearnerConfig())
    with pytest.raises(ConfigError, match="targets can be replaced, got EnumeratedProblem"):
        learner.retarget(learner.initialise(), {0: plain.gold(0)})
    margin = build("eg-online", half_annotated(6), LearnerConfig(beta=math.inf, gamma=1.0))
    with pytest.raises(ConfigError, match="expected a loss with finite beta, such as log-linear"):
        margin.retarget(margin.initialise(), {})
