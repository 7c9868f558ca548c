"""The kernel perceptron as a learner: with the linear kernel the primal one, with others what no
line can do.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from egparse.experiments.classification import ClassifierProblem, error_rate
from egparse.experiments.kernels import learner as kernel_learner
from learners.small_problems import sequences, trees

from egparse.errors import ConfigError
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build

Floats = npt.NDArray[np.float64]


def clouds(n: int = 60, classes: int = 3) -> tuple[Floats, npt.NDArray[np.int64]]:
    random = np.random.default_rng(2)
    y = random.integers(0, classes, size=n)
    return random.normal(size=(n, 4)) + np.eye(4)[y], y


def ring(n: int = 80) -> tuple[Floats, npt.NDArray[np.int64]]:
    """A class inside a circle and a class around it; the last component is 1."""
    random = np.random.default_rng(3)
    angle, y = random.uniform(0, 2 * math.pi, size=n), np.arange(n) % 2
    radius = np.where(y == 1, 2.0, 1.0) + random.uniform(-0.3, 0.3, size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(n)], axis=1), y


@pytest.mark.parametrize("rule", ["averaged", "last"])
def test_with_the_linear_kernel_it_is_the_perceptron(rule: str) -> None:
    x, y = clouds()
    new, _ = clouds(100)
    primal, dual = ClassifierProblem(x, y, 3), ClassifierProblem(x, y, 3)
    one = build("perceptron", primal, LearnerConfig(), shuffle=False, averaged=rule == "averaged")
    other = build("kernel-perceptron", dual, LearnerConfig(), shuffle=False, rule=rule)
    states = one.initialise(), other.initialise()
    for _ in range(3):
        one.iterate(states[0])
        other.iterate(states[1])
        found, expected = other.certificate(states[1]), one.certificate(states[0])
        assert found.details["mistakes"] == expected.details["mistakes"]
        assert found.primal == pytest.approx(expected.primal)
        assert found[1:4] == expected[1:4]
        with one.model_weights(states[0]), other.model_weights(states[1]):
            assert np.array_equal(primal.predict(new), dual.predict(new))


def squares(x: Floats) -> Floats:
    """The features of (a . b + 1)^2: 1, sqrt(2) x_j, x_j^2 and sqrt(2) x_j x_k for j < k (McDonald
    2009, "Example: Polynomial Kernel").
    """
    j, k = np.triu_indices(x.shape[1], 1)
    root = math.sqrt(2.0)
    return np.concatenate([np.ones((len(x), 1)), root * x, x**2, root * x[:, j] * x[:, k]], axis=1)


@pytest.mark.parametrize("rule", ["averaged", "last"])
def test_with_a_polynomial_kernel_it_is_the_perceptron_on_its_features(rule: str) -> None:
    x, y = clouds()
    new, _ = clouds(100)
    primal, dual = ClassifierProblem(squares(x), y, 3), ClassifierProblem(x, y, 3)
    one = build("perceptron", primal, LearnerConfig(), averaged=rule == "averaged")
    other = build(
        "kernel-perceptron", dual, LearnerConfig(), kernel="polynomial", degree=2, rule=rule
    )
    states = one.initialise(), other.initialise()
    for _ in range(5):
        one.iterate(states[0])
        other.iterate(states[1])
        found, expected = other.certificate(states[1]), one.certificate(states[0])
        assert found.details["mistakes"] == expected.details["mistakes"]
        assert found.primal == pytest.approx(expected.primal)
        with one.model_weights(states[0]), other.model_weights(states[1]):
            assert np.array_equal(primal.predict(squares(new)), dual.predict(new))


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"kernel": "polynomial", "degree": 2}, 0.0),
        ({"kernel": "gaussian", "sigma2": 0.1}, 0.0),
        ({"kernel": "polynomial", "degree": 2, "rule": "voted"}, 0.0),
    ],
)
def test_kernels_separate_what_a_line_cannot(options: dict[str, object], most: float) -> None:
    x, y = ring()
    problem = ClassifierProblem(x, y, 2)
    learner = build("kernel-perceptron", problem, LearnerConfig(seed=5), **options)
    state = learner.initialise()
    for _ in range(20):
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.details["mistakes"] == 0
    assert 0 < certificate.details["supports"] < len(x)
    with learner.model_weights(state):
        assert error_rate(problem, x, y) <= most
        with learner.model_weights(state):
            assert error_rate(problem, x, y) <= most
        assert error_rate(problem, x, y) <= most
    assert error_rate(problem, x, y) == 50.0  # v is 0: all examples are of the first class
    plain = build("kernel-perceptron", ClassifierProblem(x, y, 2), LearnerConfig(seed=5))
    state = plain.initialise()
    for _ in range(20):
        plain.iterate(state)
    assert plain.certificate(state).details["mistakes"] > 10


def test_what_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in (sequences(), trees()):
        with pytest.raises(
            ConfigError, match=f"a kernel machine has no weight vector, .*{type(problem).__name__}"
        ):
            build("kernel-perceptron", problem, LearnerConfig())
    problem = ClassifierProblem(*clouds(), 3)
    with pytest.raises(ConfigError, match=r"expected a kernel among linear, .* fragments"):
        build("kernel-perceptron", problem, LearnerConfig(), kernel="string")
    with pytest.raises(ConfigError, match="rule among averaged, last, voted"):
        build("kernel-perceptron", problem, LearnerConfig(), rule="best")
    with pytest.raises(ConfigError, match=r"learner kernel-perceptron: .*degree"):
        build("kernel-perceptron", problem, LearnerConfig(), degree=3)
    with pytest.raises(ConfigError, match="polynomial kernel: expected degree >= 1"):
        build("kernel-perceptron", problem, LearnerConfig(), kernel="polynomial", degree=0)
    with pytest.raises(ConfigError, match="kernel-perceptron has a fixed loss"):
        build("kernel-perceptron", problem, LearnerConfig(gamma=1.0))
    monkeypatch.setattr(kernel_learner, "_GRAM_BYTES", 800)
    with pytest.raises(ConfigError, match=r"expected at most 10 examples .*got 60"):
        build("kernel-perceptron", problem, LearnerConfig())
