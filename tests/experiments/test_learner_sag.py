"""SAG and SAGA: the optimum of independent solvers, the step as it is written, the dual bound,
sampling, and the count of inference calls.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from learners.calls import count_calls
from learners.enumerated import EnumeratedProblem, log_linear_optimum, random_problem
from learners.passes import passes
from learners.slices import EACH, SLICES

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.sag import SAG, SAGConfig
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import LOG_LINEAR, SOFTMAX_MARGIN, Loss
from egparse.learners.registry import build
from egparse.types import Floats

OTHER = Loss(2.0, 0.5)
WAYS: list[dict[str, Any]] = [
    {"sampling": sampling, "saga": saga}
    for sampling in ("uniform", "non-uniform")
    for saga in (False, True)
]
ways = pytest.mark.parametrize("options", WAYS, ids=str)
losses = pytest.mark.parametrize("loss", [LOG_LINEAR, SOFTMAX_MARGIN, OTHER], ids=str)
ROUNDING = 1e-9


def learner_of(problem: EnumeratedProblem, loss: Loss, c: float, **options: Any) -> SAG:
    return SAG(problem, SAGConfig(beta=loss.beta, gamma=loss.gamma, c=c, **options))


@ways
@pytest.mark.parametrize("c", [0.2, 2.0, 20.0])
def test_log_linear_optimum(options: dict[str, Any], c: float) -> None:
    learner = SAG(problem := random_problem(1), SAGConfig(c=c, **options))
    state = learner.initialise()
    *_, last = passes(learner, state, 150)
    optimum = log_linear_optimum(problem, c)
    assert last.primal == pytest.approx(optimum, rel=1e-7)
    assert last.dual == pytest.approx(optimum, rel=1e-7)


@pytest.mark.nightly
@ways
@losses
def test_dual_bounds_the_optimum(options: dict[str, Any], loss: Loss) -> None:
    """From the first visit on, whatever was seen; and the bound is tight in the end."""
    problem = random_problem(3)
    learner = learner_of(problem, loss, 1.0, **options)
    found = list(passes(learner, learner.initialise(), 200))
    optimum = min(each.primal for each in found)
    for each in found:
        assert each.dual <= optimum * (1 + ROUNDING)
    assert found[-1].gap == pytest.approx(0.0, abs=1e-6 * optimum)


@losses
def test_stored_marginals_make_the_dual(loss: Loss) -> None:
    """v and the terms of the dual are those of the stored marginals, in the middle of a pass:
    entropies by enumeration.
    """
    problem = random_problem(2)
    learner = learner_of(problem, loss, 2.0)
    state = learner.initialise()
    for i in (0, 3, 4, 9):
        learner.update(state, i, 1.0 / learner.n)
    learner.fold(state)
    v, value = np.zeros_like(problem.v), 0.0
    for i, structures in enumerate(problem.structures):
        marginals = state.marginals[problem.part_starts[i] : problem.part_starts[i + 1]]
        v += problem.features[i].T @ (problem.gold(i) - marginals)
        if i not in (0, 3, 4, 9):
            np.testing.assert_array_equal(marginals, problem.gold(i))
        elif i % 2:  # one part a structure: the marginals are the distribution
            assert len(structures) == len(marginals)
            entropy = -float(marginals @ np.log(marginals))
            cost = float(problem.cost(i) @ marginals) + problem.cost_constant(i)
            value = entropy / loss.beta + loss.gamma * cost
            assert state.value[i] == pytest.approx(value)
    np.testing.assert_allclose(learner.memory.vectors()[0], v, atol=1e-12)


@ways
def test_lazy_updates_are_the_dense_step(options: dict[str, Any]) -> None:
    """w of every visit, as the docstring of the module writes it, with the step sizes taken."""
    problem = random_problem(4)
    learner = SAG(problem, SAGConfig(c=3.0, **options))
    steps: list[float] = []
    chosen = learner.step_size

    def step_size(state: Any) -> float:
        steps.append(chosen(state))
        return steps[-1]

    learner.step_size = step_size  # type: ignore[method-assign]
    state, n, share = learner.initialise(), learner.n, 3.0 / learner.n
    w, v = np.zeros_like(problem.v), np.zeros_like(problem.v)
    stored = [problem.gold(i) for i in range(n)]
    order = [*range(n), *np.random.default_rng(1).integers(n, size=30).tolist()]
    for k, i in enumerate(order):
        state.iteration = int(k >= n)
        expected = np.empty(len(stored[i]))
        LOG_LINEAR.value(problem, i, problem.features[i] @ w, expected)
        chance = 0.5 / n if i % 2 else 1.5 / n
        learner.update(state, i, chance)
        change = problem.features[i].T @ (stored[i] - expected)
        seen = min(k + 1, n)
        factor = 1 / (n * chance) if options["saga"] else 1 / seen
        w = (1 - steps[-1] * share) * w + steps[-1] * (factor * change + v / seen)
        v, stored[i] = v + change, expected
        now = state.scale * problem.v + state.pull * learner.memory.vectors()[0]
        np.testing.assert_allclose(now, w, rtol=1e-9, atol=1e-11)


def test_smoothness_keeps_its_promise() -> None:
    """After a search a step of 1 / L along the gradient lowers the loss by |g|^2 / (2L), and half
    of that L would not.
    """
    problem = random_problem(1)
    learner = SAG(problem, SAGConfig(c=1.0))
    for i in range(learner.n):
        state = learner.initialise()
        learner.update(state, i, 1.0 / learner.n)
        features, smoothness = problem.features[i], float(state.smoothness[i])
        expected = np.empty(features.shape[0])
        loss = LOG_LINEAR.value(problem, i, np.zeros(features.shape[0]), expected)
        gradient = features.T @ (expected - problem.gold(i))

        def at(rate: float, i: int = i, g: Floats = gradient) -> float:
            own = problem.features[i]
            return LOG_LINEAR.value(problem, i, own @ (-rate * g), np.empty(len(own)))

        squared = float(gradient @ gradient)
        assert at(1 / smoothness) <= loss - squared / (2 * smoothness) * (1 - 1e-9)
        if smoothness > 1:  # the search starts there
            assert at(2 / smoothness) > loss - squared / smoothness


def test_examples_that_change_faster_are_visited_more_often() -> None:
    problem = random_problem(5)
    problem.features[3] *= 6.0
    learner = SAG(problem, SAGConfig(c=1.0))
    state = learner.initialise()
    visits: list[int] = []
    update = learner.update

    def counted(state: Any, i: int, chance: float) -> None:
        visits.append(i)
        update(state, i, chance)

    learner.update = counted  # type: ignore[method-assign]
    learner.iterate(state)
    assert sorted(visits) == list(range(learner.n))
    visits.clear()
    for _ in range(40):
        learner.iterate(state)
    counts = np.bincount(visits, minlength=learner.n)
    assert counts.argmax() == 3
    assert counts.sum() == 40 * learner.n


def test_all_inference_calls_are_counted() -> None:
    problem = random_problem(4)
    calls = count_calls(problem)
    learner = SAG(problem, SAGConfig(c=2.0))
    state = learner.initialise()
    for _ in range(5):
        learner.iterate(state)
    assert state.evaluations == calls["marginals"] > 5 * learner.n
    certificate = learner.certificate(state)
    assert certificate.effective_iterations == state.evaluations / learner.n
    assert certificate.details["search"] == pytest.approx(certificate.effective_iterations - 5)


@pytest.mark.parametrize("name", EACH)
def test_structures_agree_with_lbfgs(name: str) -> None:
    """Weights in single precision leave the last digits open."""
    config, bounds = LearnerConfig(c=3.0), {}
    for learner_name, most in (("lbfgs", 200), ("sag", 60)):
        problem = SLICES[name]()
        learner = build(learner_name, problem, config)
        *_, last = passes(learner, learner.initialise(), most)
        bounds[learner_name] = last
    primal, dual = bounds["lbfgs"].primal, bounds["lbfgs"].dual
    assert dual * (1 - 1e-5) <= bounds["sag"].primal <= primal * (1 + 1e-3)
    assert primal * (1 - 1e-2) <= bounds["sag"].dual <= primal * (1 + 1e-5)


def test_strong_regularisation_puts_w_together_in_a_pass() -> None:
    """The factor of x falls by 1 - C / (n L + C) a visit, and would leave what numbers can hold."""
    learner = SAG(problem := random_problem(1), SAGConfig(c=1e6))
    *_, last = passes(learner, learner.initialise(), 30)
    assert last.primal == pytest.approx(log_linear_optimum(problem, 1e6), rel=1e-9)


def test_losses_that_are_not_finite_are_told() -> None:
    problem = random_problem(1)
    problem.features[0][0, 0] = math.nan
    learner = SAG(problem, SAGConfig(c=1.0))
    with pytest.raises(EgparseError, match="sag: expected a finite loss of example"):
        learner.iterate(learner.initialise())


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (LearnerConfig(c=0.0), {}, "sag: expected c > 0, got 0"),
        (LearnerConfig(beta=math.inf, gamma=1.0), {}, "sag expects a differentiable loss"),
        (LearnerConfig(), {"sampling": "gap"}, "sampling among uniform, non-uniform, got 'gap'"),
        (LearnerConfig(), {"rate": 1.0}, "learner sag: .*rate"),
    ],
)
def test_configurations_that_cannot_work(
    config: LearnerConfig, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build("sag", random_problem(1), config, **options)
