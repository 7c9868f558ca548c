"""SGD: the step as the paper writes it, the choice of the rate, the optimum of independent solvers,
divergence.
"""

from __future__ import annotations

import numpy as np
import pytest
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)

from egparse.errors import EgparseError
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import HINGE, LOG_LINEAR, PERCEPTRON, SOFTMAX_MARGIN, Loss
from egparse.learners.registry import build
from egparse.learners.sgd import RATES, SGD, SGDConfig

OTHER = Loss(2.0, 0.5)


def objective(problem: EnumeratedProblem, loss: Loss, c: float, w: np.ndarray) -> float:
    """The primal at w, example by example."""
    total = c / 2 * float(w @ w)
    for i, features in enumerate(problem.features):
        scores = features @ w
        total += loss.value(problem, i, scores, np.empty(len(scores)))
    return total


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("c", [0.2, 2.0, 20.0])
def test_log_linear_optimum(seed: int, c: float) -> None:
    problem = random_problem(seed)
    learner = SGD(problem, SGDConfig(c=c))
    state = learner.initialise()
    primals = []
    for _ in range(100):
        learner.iterate(state)
        primals.append(learner.certificate(state).primal)
    optimum = log_linear_optimum(problem, c)
    assert min(primals) >= optimum * (1 - PROVEN)
    assert primals[-1] < primals[0] < objective(problem, LOG_LINEAR, c, np.zeros_like(problem.v))
    assert primals[-1] == pytest.approx(optimum, rel=1e-2)


def test_max_margin_optimum() -> None:
    learner = SGD(problem := random_problem(1), SGDConfig.under(HINGE, c=2.0))
    state = learner.initialise()
    for _ in range(300):
        learner.iterate(state)
    optimum = max_margin_optimum(problem, 2.0)
    assert (
        optimum * (1 - PROVEN)
        <= learner.certificate(state).primal
        == pytest.approx(optimum, rel=1e-2)
    )


@pytest.mark.parametrize("loss", [LOG_LINEAR, HINGE, SOFTMAX_MARGIN, OTHER])
def test_every_loss_improves(loss: Loss) -> None:
    problem = random_problem(3)
    learner = build("sgd", problem, LearnerConfig(beta=loss.beta, gamma=loss.gamma, c=1.0))
    state = learner.initialise()
    primals = [objective(problem, loss, 1.0, np.zeros_like(problem.v))]
    for _ in range(20):
        learner.iterate(state)
        primals.append(learner.certificate(state).primal)
        expected = objective(problem, loss, 1.0, state.scale * problem.v)
        assert primals[-1] == pytest.approx(expected, rel=1e-12)
    assert primals[-1] < primals[1] < primals[0]


@pytest.mark.parametrize("loss", [LOG_LINEAR, HINGE, PERCEPTRON])
@pytest.mark.parametrize(
    ("c", "eta0"), [(0.0, 0.3), (2.0, 0.1), (100.0, 0.1), (12.0, 1.0), (300.0, 0.1)]
)
@pytest.mark.parametrize("decay", [True, False])
def test_lazy_scaling_is_the_dense_step(loss: Loss, c: float, eta0: float, decay: bool) -> None:
    """The scale shrinks beyond what is let pass, is 0 (c = 12: all is forgotten), or changes its
    sign (c = 300).
    """
    problem = random_problem(2)
    learner = SGD(problem, SGDConfig.under(loss, c=c, eta0=eta0, decay=decay))
    state, n = learner.initialise(), 12
    w = np.zeros_like(problem.v)
    for k, i in enumerate(np.random.default_rng(1).integers(n, size=60).tolist()):
        eta = eta0 / (1 + k / n) if decay else eta0
        expected = np.empty(len(problem.gold(i)))
        loss.value(problem, i, problem.features[i] @ w, expected)
        learner.update(state, i)
        w = w - eta * (problem.features[i].T @ (expected - problem.gold(i)) + c / n * w)
        np.testing.assert_allclose(state.scale * problem.v, w, rtol=1e-9, atol=1e-12)
    assert 1e-5 < abs(state.scale) < 1e5
    v = state.scale * problem.v
    learner.fold(state)
    assert state.scale == 1.0
    assert problem.v.tobytes() == v.tobytes()


def test_the_rate_is_the_best_after_a_pass() -> None:
    def after_a_pass(eta0: float | None) -> tuple[float, bytes, float]:
        problem = random_problem(4)
        learner = SGD(problem, SGDConfig(c=2.0, eta0=eta0))
        learner.iterate(state := learner.initialise())
        assert state.eta0 is not None
        return learner.certificate(state).primal, (state.scale * problem.v).tobytes(), state.eta0

    tried = [after_a_pass(rate) for rate in RATES]
    assert after_a_pass(None) == min(tried)


def test_the_search_is_counted() -> None:
    problem = random_problem(4)
    learner = SGD(problem, SGDConfig(c=2.0))
    state = learner.initialise()
    assert learner.certificate(state).details == {"search": 0.0}
    before, calls = problem.marginals, 0

    def counted(i: int, potentials: np.ndarray, out: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return before(i, potentials, out)

    problem.marginals = counted  # type: ignore[method-assign]
    for _ in range(3):
        learner.iterate(state)
    made = calls
    certificate = learner.certificate(state)
    assert certificate.effective_iterations == made / learner.n
    assert certificate.effective_iterations - certificate.details["search"] == 3.0
    assert certificate.details["eta"] == pytest.approx(certificate.details["eta0"] / 4)


def test_divergence_is_told() -> None:
    learner = SGD(random_problem(1), SGDConfig(c=1.0, eta0=1e300))
    with pytest.raises(EgparseError, match=r"expected a finite loss, got .* with eta0 = 1e\+300"):
        learner.iterate(learner.initialise())


def enlarged(problem: EnumeratedProblem, factor: float) -> EnumeratedProblem:
    return EnumeratedProblem(problem.structures, [factor * own for own in problem.features])


def test_rates_that_diverge_are_out() -> None:
    learner = SGD(enlarged(random_problem(1), 1e160), SGDConfig(c=1.0))
    with pytest.raises(
        EgparseError, match=r"expected one of the rates .* to keep the primal finite"
    ):
        learner.iterate(learner.initialise())
    learner = SGD(random_problem(1), SGDConfig(c=1e300))
    with pytest.raises(EgparseError, match="expected one of the rates"):
        learner.iterate(learner.initialise())
    learner = SGD(random_problem(1), SGDConfig(c=1e4))
    learner.iterate(state := learner.initialise())
    assert state.eta0 is not None
    assert state.eta0 < 1.0


@pytest.mark.parametrize(
    ("c", "eta0"), [(0.0, 0.3), (2.0, 0.1), (100.0, 0.1), (12.0, 1.0), (300.0, 0.1)]
)
def test_average_is_the_mean_of_the_weights_after_visits(c: float, eta0: float) -> None:
    """At scales that shrink, that are 0, and that change their sign."""
    problem = random_problem(2)
    learner = SGD(problem, SGDConfig(c=c, eta0=eta0, averaged=True))
    state, plain = learner.initialise(), random_problem(2)
    other = SGD(plain, SGDConfig(c=c, eta0=eta0))
    twin, seen = other.initialise(), []
    for i in np.random.default_rng(1).integers(12, size=200).tolist():
        learner.update(state, i)
        other.update(twin, i)
        seen.append(twin.scale * plain.v)
        np.testing.assert_allclose(state.scale * problem.v, seen[-1], rtol=1e-9, atol=1e-12)
    mean = np.mean(seen, axis=0)
    largest = float(np.abs(seen).max())  # cancellation is relative to the weights that are summed
    with learner.model_weights(state):
        np.testing.assert_allclose(state.scale * problem.v, mean, atol=1e-8 * largest)
        assert learner.certificate(state).primal == pytest.approx(
            objective(problem, LOG_LINEAR, c, mean), rel=1e-6
        )
    np.testing.assert_allclose(state.scale * problem.v, seen[-1], rtol=1e-9, atol=1e-12)


def test_the_average_is_that_of_the_chosen_rate() -> None:
    def averaged(eta0: float | None) -> tuple[float, np.ndarray]:
        problem = random_problem(4)
        learner = SGD(problem, SGDConfig(c=2.0, eta0=eta0, averaged=True))
        state = learner.initialise()
        for _ in range(3):
            learner.iterate(state)
        assert state.eta0 is not None
        with learner.model_weights(state):
            return state.eta0, state.scale * problem.v

    chosen, model = averaged(None)
    np.testing.assert_allclose(model, averaged(chosen)[1], rtol=1e-12)
