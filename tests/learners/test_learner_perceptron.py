"""The perceptron: its mistake bound, the exact average, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from learners.enumerated import EnumeratedProblem, random_problem
from tolerances import eps_of, rounding

from egparse.errors import EgparseError
from egparse.learners.perceptron import Perceptron, PerceptronConfig

MOST_MISTAKES = 3000  # of the problems drawn, by the bound


class HesitantProblem(EnumeratedProblem):
    """Of the best structures it takes the last, so that a tie with the correct one, the first, is a
    mistake.
    """

    def argmax(self, i: int, potentials: np.ndarray, out: np.ndarray) -> float:
        scores = (self.structures[i] @ potentials)[::-1]
        out[:] = self.structures[i][::-1][scores.argmax()]
        return float(scores.max())


def hesitant(seed: int, n: int = 12, d: int = 6) -> HesitantProblem:
    drawn = random_problem(seed, n, d)
    return HesitantProblem(drawn.structures, drawn.features)


class SingleProblem(HesitantProblem):
    """With v in float32, as tasks hold it."""

    def __init__(self, *arguments: list[np.ndarray]) -> None:
        super().__init__(*arguments)
        self.v = self.v.astype(np.float32)

    def with_own_weights(self) -> SingleProblem:
        return SingleProblem(self.structures, self.features)


@st.composite
def separable(draw: st.DrawFn) -> tuple[HesitantProblem, float]:
    """A problem that some vector separates, and the bound (R / gamma)^2 by the margin of that
    vector.
    """
    d = draw(st.integers(2, 4))
    integers = st.integers(-4, 4)
    separator = draw(arrays.arrays(np.int64, d, elements=integers)).astype(float)
    assume(separator.any())
    structures, features, least, widest = [], [], math.inf, 0.0
    for _ in range(draw(st.integers(1, 5))):
        parts = draw(st.integers(2, 3))
        own = np.eye(parts)
        if draw(st.booleans()):
            own = np.array(
                [[(code >> bit) & 1 for bit in range(parts)] for code in range(2**parts)], float
            )
        phi = draw(arrays.arrays(np.int64, (parts, d), elements=integers)).astype(float)
        order = np.argsort(-(own @ phi @ separator), kind="stable")
        own = own[order]
        moves = (own[:1] - own[1:]) @ phi
        least = min(least, float((moves @ separator).min()) / float(np.linalg.norm(separator)))
        widest = max(widest, float(np.linalg.norm(moves, axis=1).max()))
        structures.append(own)
        features.append(phi)
    assume(least > 0)
    bound = (widest / least) ** 2
    assume(bound < MOST_MISTAKES)
    return HesitantProblem(structures, features), bound


@given(separable(), st.booleans())
def test_mistakes_are_bounded_by_the_margin(
    drawn: tuple[HesitantProblem, float], shuffle: bool
) -> None:
    problem, bound = drawn
    learner = Perceptron(problem, PerceptronConfig(averaged=False, shuffle=shuffle))
    state = learner.initialise()
    mistakes = 0
    while True:
        learner.iterate(state)
        mistakes += state.mistakes
        assert mistakes <= bound * (1 + rounding(20))  # norms and products of a few integers
        if state.mistakes == 0:
            break
    certificate = learner.certificate(state)
    assert certificate.primal == 0.0
    assert certificate.dual == -math.inf
    assert certificate.details["mistakes"] == 0.0


@pytest.mark.parametrize("kind", [HesitantProblem, SingleProblem])
def test_average_is_that_of_the_weights_after_each_visit(kind: type[HesitantProblem]) -> None:
    drawn = random_problem(3)
    problem = kind(drawn.structures, drawn.features)
    learner = Perceptron(problem, PerceptronConfig())
    state = learner.initialise()
    seen = []
    for i in np.random.default_rng(1).integers(learner.n, size=70).tolist():
        learner.update(state, i)
        seen.append(problem.v.astype(np.float64))
    own = problem.v.tobytes()
    with learner.model_weights(state):
        near = rounding(70 + 100, eps=eps_of(problem))  # the sum of 70 weights, each a sum
        np.testing.assert_allclose(problem.v, np.mean(seen, axis=0), rtol=near, atol=near)
        average = problem.v.tobytes()
        with learner.model_weights(state):
            assert problem.v.tobytes() == average
        assert problem.v.tobytes() == average
    assert problem.v.tobytes() == own != average


def test_only_mistakes_cost_additions() -> None:
    problem = hesitant(4)
    learner = Perceptron(problem, PerceptronConfig())
    state = learner.initialise()
    before, added = problem.add, 0

    def counted(i: int, changes: np.ndarray) -> float:
        nonlocal added
        added += 1
        return before(i, changes)

    problem.add = counted  # type: ignore[method-assign]
    mistakes = 0
    for _ in range(5):
        learner.iterate(state)
        mistakes += state.mistakes
    assert 0 < added == mistakes < 5 * learner.n


def test_an_example_without_a_structure_is_named() -> None:
    problem = hesitant(1)
    problem.argmax = lambda i, potentials, out: -math.inf  # type: ignore[method-assign]
    learner = Perceptron(problem, PerceptronConfig(shuffle=False))
    with pytest.raises(EgparseError, match="finite score for example 0, got -inf"):
        learner.iterate(learner.initialise())


def test_certificate_is_that_of_the_exposed_weights() -> None:
    learner = Perceptron(problem := hesitant(5), PerceptronConfig())
    state = learner.initialise()
    for _ in range(3):
        learner.iterate(state)
    with learner.model_weights(state):
        expected = sum(
            (problem.structures[i] @ problem.scores(i)).max() - problem.gold(i) @ problem.scores(i)
            for i in range(learner.n)
        )
    certificate = learner.certificate(state)
    assert certificate.primal == pytest.approx(expected, abs=1e-12)
    assert certificate.effective_iterations == 3.0


def test_bits_come_back_when_the_exposed_fail() -> None:
    learner = Perceptron(problem := hesitant(3), PerceptronConfig())
    learner.iterate(state := learner.initialise())
    own = problem.v.tobytes()
    with pytest.raises(ZeroDivisionError), learner.model_weights(state):
        raise ZeroDivisionError
    assert problem.v.tobytes() == own
