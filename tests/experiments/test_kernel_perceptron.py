"""Kernels against their formulas, and the kernel perceptron against the primal one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from egparse.experiments.kernels.functions import Gaussian, Kernel, Linear, Polynomial
from egparse.experiments.kernels.perceptron import KernelModel, Training, Weighting
from hypothesis import given
from hypothesis import strategies as st

from egparse.errors import ConfigError, EgparseError

Floats = np.ndarray

vectors = st.integers(0, 10_000).map(
    lambda seed: np.random.default_rng(seed).choice([-1.0, 0.0, 0.0, 0.5, 2.0], size=(7, 4))
)


def is_semidefinite(matrix: Floats) -> bool:
    return bool(
        np.allclose(matrix, matrix.T)
        and np.linalg.eigvalsh(matrix).min() >= -1e-9 * max(1.0, np.abs(matrix).max())
    )


@given(vectors)
def test_vector_kernels_are_what_they_say(x: Floats) -> None:
    assert Linear().matrix(x, x) == pytest.approx(x @ x.T)
    assert Polynomial(degree=3, constant=2.0).matrix(x, x[:2]) == pytest.approx(
        (x @ x[:2].T + 2.0) ** 3
    )
    far = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    assert Gaussian(sigma2=3.0).matrix(x, x) == pytest.approx(np.exp(-far / 6.0))
    for kernel in (Linear(), Polynomial(), Gaussian()):
        assert is_semidefinite(kernel.matrix(x, x))


def test_the_polynomial_kernel_is_the_product_of_its_features() -> None:
    """The six features of McDonald 2009, "Example: Polynomial Kernel"."""

    def features(x: Floats) -> Floats:
        a, b = x
        root = np.sqrt(2.0)
        return np.array([a * a, b * b, root * a, root * b, root * a * b, 1.0])

    x = np.array([[1.0, 2.0], [-0.5, 3.0]])
    written_out = np.array([[features(a) @ features(b) for b in x] for a in x])
    assert Polynomial(degree=2).matrix(x, x) == pytest.approx(written_out)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polynomial(degree=0), "expected degree >= 1"),
        (lambda: Polynomial(constant=-1.0), "constant >= 0"),
        (lambda: Gaussian(sigma2=0.0), "expected sigma2 > 0"),
    ],
)
def test_bad_kernels_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


class Primal:
    """The perceptron of McDonald 2009 with a weight vector a label; keeps every vector it visited
    with.
    """

    def __init__(self, x: Floats, labels: Floats, label_count: int, orders: list[Floats]) -> None:
        self.w = np.zeros((label_count, x.shape[1]))
        self.visited: list[Floats] = []
        self.mistakes: list[int] = []
        for order in orders:
            mistakes = 0
            for i in order:
                best = int((self.w @ x[i]).argmax())
                if best != labels[i]:
                    mistakes += 1
                    self.w = self.w.copy()
                    self.w[labels[i]] += x[i]
                    self.w[best] -= x[i]
                self.visited.append(self.w)
            self.mistakes.append(mistakes)
            if mistakes == 0:
                break

    def votes(self, x: Floats) -> Floats:
        out = np.zeros((len(x), len(self.w)))
        for w in self.visited:
            out[np.arange(len(x)), (x @ w.T).argmax(axis=1)] += 1
        return out


def integers(seed: int, n: int = 12) -> tuple[Floats, Floats, Floats]:
    """Integer features, so that primal and dual scores are equal to the bit."""
    random = np.random.default_rng(seed)
    return (
        random.integers(-2, 3, size=(n, 3)).astype(float),
        random.integers(0, 3, size=n),
        random.integers(-2, 3, size=(20, 3)).astype(float),
    )


def trained(
    x: Floats,
    labels: Floats,
    *,
    kernel: Kernel | None = None,
    passes: int = 10,
    seed: int | None = None,
) -> KernelModel:
    """After so many passes, or after the first one without a mistake."""
    training = Training(kernel or Linear(), x, labels, n_classes=3, seed=seed)
    for _ in range(passes):
        if training.make_pass() == 0:
            break
    return training.model()


def predicted(model: KernelModel, x: Floats, weighting: Weighting = "last") -> list[int]:
    return list(model.scores(x, weighting).argmax(axis=1))


@given(st.integers(0, 100_000))
def test_with_the_linear_kernel_it_is_the_primal_perceptron(seed: int) -> None:
    x, labels, fresh = integers(seed)
    model = trained(x, labels, passes=4)
    primal = Primal(x, labels, 3, [np.arange(len(x))] * 4)
    assert list(model.mistakes_by_pass) == primal.mistakes
    assert model.scores(fresh, "last").tolist() == (fresh @ primal.w.T).tolist()
    mean = np.mean(primal.visited, axis=0)
    assert model.scores(fresh, "averaged") == pytest.approx(fresh @ mean.T, abs=1e-12)
    assert model.scores(fresh, "voted").tolist() == primal.votes(fresh).tolist()


def test_a_seed_shuffles_each_pass() -> None:
    x, labels, fresh = integers(4)
    random = np.random.default_rng(9)
    primal = Primal(x, labels, 3, [random.permutation(len(x)) for _ in range(3)])
    model = trained(x, labels, passes=3, seed=9)
    assert model.scores(fresh, "last").tolist() == (fresh @ primal.w.T).tolist()


def test_mistakes_stay_below_the_bound_of_the_margin() -> None:
    """At most R^2 / gamma^2 on separable data (McDonald 2009, "Perceptron: Main Theorem"), and
    training stops without any.
    """
    random = np.random.default_rng(3)
    x = random.normal(size=(60, 2))
    x = x[np.abs(x[:, 0]) > 0.3]
    labels = (x[:, 0] > 0).astype(int)
    model = trained(x, labels, passes=1000)
    u = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]) / np.sqrt(2)
    scores = x @ u.T
    others = np.where(np.arange(3) == labels[:, None], -np.inf, scores).max(axis=1)
    margin = (scores[np.arange(len(x)), labels] - others).min()
    radius = 2 * (x**2).sum(axis=1).max()  # |f(x, y) - f(x, y')|^2 = 2 |x|^2
    assert model.mistakes_by_pass[-1] == 0
    assert 0 < sum(model.mistakes_by_pass) <= radius / margin**2
    assert predicted(model, x) == labels.tolist()


def test_a_polynomial_kernel_separates_what_a_line_cannot() -> None:
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = np.array([0, 1, 1, 0])
    model = trained(x, labels, kernel=Polynomial(), passes=100)
    assert predicted(model, x) == labels.tolist()
    assert trained(x, labels, passes=100).mistakes_by_pass[-1] > 0


def test_without_mistakes_the_first_class_wins() -> None:
    model = trained(np.ones((3, 2)), np.zeros(3, dtype=int))
    assert model.mistakes_by_pass == (0,)
    weightings: tuple[Weighting, ...] = ("last", "averaged", "voted")
    for weighting in weightings:
        assert predicted(model, np.ones((2, 2)), weighting) == [0, 0]


def test_a_kernel_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(EgparseError, match="expected finite kernel values"):
        trained(np.array([[np.nan]]), np.array([0]))
