"""MIRA: Hildreth's procedure against its optimality conditions, one structure against dual
coordinate ascent, and k of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import EnumeratedProblem, max_margin_optimum, random_problem
from learners.small_problems import sequences, trees
from oracles.trees import tree_facts
from tolerances import eps_of, rounding

from egparse.errors import EgparseError
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.mira import FULL, MIRA, MIRAConfig, hildreth
from egparse.learners.problem import Problem, read, squared_norm
from egparse.types import Floats

INF = math.inf


class ListedProblem(EnumeratedProblem):
    """The enumerated problem with its k best structures."""

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        order = np.argsort(-(self.structures[i] @ potentials), kind="stable")
        return self.structures[i][order[:k]]

    def with_own_weights(self) -> ListedProblem:
        return ListedProblem(self.structures, self.features)


def listed(seed: int) -> ListedProblem:
    plain = random_problem(seed)
    return ListedProblem(plain.structures, plain.features)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "enumerated": lambda: listed(1),
    "chain": sequences,
    "words": lambda: sequences(bigrams=False),
    "projective": trees,
    "non-projective": lambda: trees(kind="non-projective", single_root=False),
}
problems = pytest.mark.parametrize("name", PROBLEMS)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    """Gram matrices of up to six vectors, some of them alike or zero, with margins of either
    sign.
    """
    k, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    cell = st.integers(-8, 8).map(lambda number: number / 4)
    vectors = np.array(
        draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=k, max_size=k))
    )
    margins = np.array(
        draw(st.lists(st.integers(-50, 50).map(lambda number: number / 10), min_size=k, max_size=k))
    )
    return vectors @ vectors.T, margins, draw(st.sampled_from([1e-3, 0.1, 1.0, 50.0]))


@given(programs())
def test_hildreth_meets_the_optimality_conditions(program: tuple[Floats, Floats, float]) -> None:
    gram, margins, upper = program
    alpha, slack, violation, sweeps = hildreth(
        gram, margins, upper, tolerance=1e-6, max_sweeps=100_000
    )
    allowed = 1e-6 * np.abs(margins).max()
    assert violation <= allowed
    # The residuals are kept up to date by sums: in every sweep three moves a row, and one of all.
    magnitude = float(np.abs(margins).max() + np.abs(gram).max() * upper)
    allowed += rounding((sweeps + 1) * 4 * len(margins), magnitude)
    assert slack >= 0
    assert alpha.min() >= 0
    assert alpha.sum() <= upper * (1 + rounding(4 * len(margins)))
    residuals = margins - gram @ alpha
    assert (residuals <= slack + allowed).all()
    assert (residuals[alpha > 0] >= slack - allowed).all()
    assert slack == 0 or alpha.sum() >= upper * (1 - FULL - rounding(len(margins)))


@given(st.floats(1e-3, 10), st.floats(-5, 5), st.floats(1e-3, 10))
def test_hildreth_of_one_row_is_the_closed_form(norm: float, margin: float, upper: float) -> None:
    solution = hildreth([[norm]], [margin], upper)
    assert solution.alpha[0] == pytest.approx(min(upper, max(0.0, margin) / norm), rel=rounding(4))
    assert solution.sweeps <= 1


def test_hildreth_says_when_it_is_not_done() -> None:
    near = np.array([[1.0, 0.999], [0.999, 1.0]])
    assert hildreth(near, [1.0, 1.0005], 10.0, max_sweeps=1).violation > 1e-6
    assert hildreth(near, [1.0, 1.0005], 10.0).violation <= 1e-6 * 1.0005


@pytest.mark.parametrize(
    ("gram", "margins", "upper", "message"),
    [
        (
            np.eye(2),
            [1.0],
            1.0,
            r"expected gram \(k, k\) and margins \(k,\), got \(2, 2\) and \(1,\)",
        ),
        (np.eye(1), [1.0], 0.0, "expected 0 < upper < inf, got 0"),
        (np.eye(1), [1.0], INF, "got inf"),
    ],
)
def test_faults_of_programs(gram: Floats, margins: list[float], upper: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hildreth(gram, margins, upper)


@problems
@pytest.mark.parametrize("c", [0.3, 30.0])
def test_one_best_is_dual_coordinate_ascent(name: str, c: float) -> None:
    ascent_problem, mira_problem = PROBLEMS[name](), PROBLEMS[name]()
    ascent = DCA(ascent_problem, DCAConfig(beta=INF, gamma=1.0, c=c))
    mira = MIRA(mira_problem, MIRAConfig(c=c))
    first, second = ascent.initialise(), mira.initialise()
    for _ in range(3):
        ascent.iterate(first)
        mira.iterate(second)
    assert read(ascent_problem).tobytes() == read(mira_problem).tobytes()
    assert squared_norm(mira_problem) > 0


@problems
@pytest.mark.parametrize("c", [0.3, 30.0])
def test_one_best_is_the_closed_form(name: str, c: float) -> None:
    """alpha = min(1/C, (cost - margin) / |difference|^2) (Crammer et al. 2006, PA-I, with the
    structure of greatest loss).
    """
    problem = PROBLEMS[name]()
    mira = MIRA(problem, MIRAConfig(c=c))
    state = mira.initialise()
    for turn in range(3 * mira.n):
        i = turn % mira.n
        before, scores, cost = read(problem), problem.scores(i).copy(), problem.cost(i).copy()
        best = np.empty(len(scores))
        problem.argmax(i, scores + cost, best)
        difference = problem.gold(i) - best
        loss = cost @ best + problem.cost_constant(i) - scores @ difference
        twin = problem.with_own_weights()
        norm = twin.add(i, difference)
        mira.update(state, i)
        alpha = min(1 / c, max(0.0, loss) / norm) if norm > 0 else 0.0
        # scores sum up to 100 weights in the problem's precision; alpha is a quotient of them
        near = rounding(100, eps=eps_of(problem))
        np.testing.assert_allclose(
            read(problem), before + alpha * read(twin), rtol=near, atol=near / c
        )


@problems
@pytest.mark.parametrize("c", [0.3, 5.0])
def test_all_structures_solve_the_whole_problem(name: str, c: float) -> None:
    """With every structure as a constraint the step is that of eq. 11: its value equals that of the
    dual, no gap left.
    """
    problem = PROBLEMS[name]()
    mira = MIRA(problem, MIRAConfig(c=c, k=60, tolerance=1e-8, max_sweeps=1_000_000))
    state = mira.initialise()
    solved = set()
    for turn in range(2 * mira.n):
        i = turn % mira.n
        if len(problem.k_best(i, problem.gold(i), 60)) == 60:  # type: ignore[attr-defined]
            continue
        solved.add(i)
        before = read(problem)
        increase = mira.update(state, i)
        distance = float(np.sum((read(problem) - before) ** 2))
        scores = problem.scores(i)
        loss = mira.loss.value(problem, i, scores, np.empty(len(scores)))
        assert c / 2 * distance + loss == pytest.approx(increase, rel=1e-4, abs=1e-5)
        remainder = read(mira._second)  # type: ignore[arg-type]
        assert np.abs(remainder).max() <= (1e-12 if name == "enumerated" else 0.0)
    assert state.tally.unsolved == 0
    assert len(solved) >= 3


@problems
def test_more_structures_promise_more(name: str) -> None:
    promised = []
    for k in (1, 2, 3, 6):
        problem = PROBLEMS[name]()
        mira = MIRA(problem, MIRAConfig(c=0.5, k=k, tolerance=1e-9))
        state = mira.initialise()
        promised.append(mira.update(state, 0))
    assert promised[0] > 0
    assert all(more >= fewer - 1e-7 for fewer, more in itertools.pairwise(promised))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_lower_bound_of_the_optimum(seed: int, k: int) -> None:
    problem = listed(seed)
    mira = MIRA(problem, MIRAConfig(c=2.0, k=k))
    state = mira.initialise()
    optimum = max_margin_optimum(problem, 2.0)
    for _ in range(4):
        mira.iterate(state)
        certificate = mira.certificate(state)
        assert 0.3 * optimum < certificate.details["lower_bound"] <= optimum <= certificate.primal
        assert certificate.details["unsolved"] == 0


@pytest.mark.parametrize("kind", ["projective", "non-projective"])
@pytest.mark.parametrize("single_root", [True, False])
def test_best_trees_of_the_task(kind: str, single_root: bool) -> None:
    problem = trees(kind=kind, single_root=single_root)  # type: ignore[arg-type]
    random = np.random.default_rng(3)
    for i, n in enumerate((3, 1, 4)):
        potentials = random.normal(size=len(problem.gold(i)))
        square = np.full((n + 1, n + 1), -INF)
        arcs = problem.arcs(i)
        square[arcs[:, 0], arcs[:, 1]] = potentials
        ranked = tree_facts(square.tolist(), single_root, kind == "projective").ranked
        for k in (1, 4, 1000):
            found = problem.k_best(i, potentials, k)
            np.testing.assert_allclose(found @ potentials, ranked[:k], rtol=1e-12)
            assert len({row.tobytes() for row in found}) == len(found)
            assert (found.sum(axis=1) == n).all()


@pytest.mark.parametrize("bigrams", [True, False])
def test_best_sequences_of_the_task(bigrams: bool) -> None:
    problem = sequences(bigrams=bigrams)
    random = np.random.default_rng(3)
    for i in range(5):
        potentials = random.normal(size=len(problem.gold(i)))
        best = np.empty(len(potentials))
        score = problem.argmax(i, potentials, best)
        found = problem.k_best(i, potentials, 7)
        assert (found[0] == best).all()
        scores = found @ potentials
        assert scores[0] == pytest.approx(score, rel=1e-12)
        assert (np.diff(scores) <= 0).all()
        assert len({row.tobytes() for row in found}) == len(found)
        assert any((row == problem.gold(i)).all() for row in problem.k_best(i, problem.gold(i), 1))


def test_an_example_without_structures_is_an_error() -> None:
    class Empty(ListedProblem):
        def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
            return np.zeros((0, len(potentials)))

    plain = random_problem(1)
    mira = MIRA(Empty(plain.structures, plain.features), MIRAConfig(k=2))
    with pytest.raises(EgparseError, match="MIRA: expected a structure of example 1, got none"):
        mira.update(mira.initialise(), 1)
