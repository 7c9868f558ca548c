"""The maximum-entropy learners: the same optimum from each, falling all the way, and the model they
optimise written out.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.maxent.cd import CoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.iis import IIS
from egparse.experiments.maxent.lbfgs import maxent_optimum
from egparse.experiments.maxent.learner import MaxentState
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.registry import ITERATIVE, RUNS, train_maxent
from egparse.experiments.maxent.run import MaxentStop, run_learner
from egparse.types import Floats

BROWN = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "brown" / "brown.tsv"
DESCENDING = tuple(kind for kind in ITERATIVE if kind.descends)


def drawn(seed: int, n: int = 12, d: int = 6, label_count: int = 3) -> tuple[Floats, np.ndarray]:
    """Contexts of a few attributes, some of them alike, with values that are often 1."""
    random = np.random.default_rng(seed)
    values = random.choice([1.0, 1.0, 0.5, 2.0], size=(n, d))
    dense = np.where(random.random((n, d)) < 0.5, values, 0.0)
    dense[: n // 3] = dense[n // 3 : 2 * (n // 3)]
    return dense, random.integers(0, label_count, size=n)


def drawn_problem(seed: int, **sizes: int) -> MaxentProblem:
    dense, labels = drawn(seed, **sizes)
    return build_maxent(csr_matrix(dense), labels, label_count=3)


def objective_written_out(
    dense: Floats, labels: np.ndarray, weights: dict[tuple[int, int], float], sigma2: float
) -> float:
    """Eq. 3 example by example, with weights by (attribute, label)."""
    table = np.zeros((dense.shape[1], 3))
    for (attribute, label), weight in weights.items():
        table[attribute, label] = weight
    scores = dense @ table
    loss = (logsumexp(scores, axis=1) - scores[np.arange(len(labels)), labels]).sum()
    return float(loss + (table**2).sum() / (2 * sigma2))


def pairs_of(problem: MaxentProblem) -> list[tuple[int, int]]:
    starts = problem.features.feature_starts
    attributes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return list(zip(attributes.tolist(), problem.features.labels.tolist(), strict=True))


@given(st.integers(0, 10_000), st.sampled_from([0.3, 10.0, math.inf]))
def test_the_objective_is_that_of_the_examples(seed: int, sigma2: float) -> None:
    dense, labels = drawn(seed)
    problem = build_maxent(csr_matrix(dense), labels, label_count=3)
    pairs = pairs_of(problem)
    assert pairs == sorted(
        {(a, y) for row, y in zip(dense, labels.tolist(), strict=True) for a in np.flatnonzero(row)}
    )
    w = np.random.default_rng(seed).normal(size=len(pairs))
    expected = objective_written_out(dense, labels, dict(zip(pairs, w, strict=True)), sigma2)
    assert GIS(problem, sigma2=sigma2).objective(w) == pytest.approx(expected, rel=1e-12)


def test_the_gradient_is_that_of_finite_differences() -> None:
    learner = GIS(drawn_problem(3), sigma2=2.0)
    state = learner.initialise()
    for _ in range(3):
        learner.iterate(state)
    for t in range(len(state.w)):
        moved = np.zeros_like(state.w)
        moved[t] = 1e-6
        slope = (learner.objective(state.w + moved) - learner.objective(state.w - moved)) / 2e-6
        assert learner.gradient(state)[t] == pytest.approx(slope, abs=1e-7)


def test_equal_contexts_are_merged_and_counted() -> None:
    dense = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    problem = build_maxent(csr_matrix(dense), [0, 1, 1, 0])
    assert problem.features.counts.tolist() == [2.0, 1.0, 1.0]
    assert pairs_of(problem) == [(0, 0), (0, 1), (1, 1)]
    assert problem.features.observed.tolist() == [1.0, 2.0, 2.0]
    assert (problem.feature_count, problem.context_count, problem.nonzeros) == (3, 3, 5)


@pytest.mark.compiled_only
@examples(25)
@given(st.integers(0, 100_000), st.sampled_from([0.1, 1.0, 10.0]))
def test_all_reach_the_optimum(seed: int, sigma2: float) -> None:
    problem = drawn_problem(seed)
    optimum = maxent_optimum(problem, sigma2=sigma2)
    for name in RUNS:
        stop = MaxentStop(passes=50_000, tolerance=1e-4, optimum=optimum)
        run = train_maxent(name, problem, stop, sigma2=sigma2)
        assert run.converged, name
        assert -1e-9 <= run.records[-1].relative_difference <= 1e-4, name


@examples(25)
@given(st.integers(0, 100_000), st.sampled_from([0.5, 10.0, 1000.0, math.inf]))
def test_every_pass_lowers_the_objective(seed: int, sigma2: float) -> None:
    problem = drawn_problem(seed, n=9, d=4)
    for learner in (kind(problem, sigma2=sigma2) for kind in DESCENDING):
        state = learner.initialise()
        assert state.objective == pytest.approx(9 * math.log(3))
        for _ in range(12):
            before, slope = state.objective, np.linalg.norm(learner.gradient(state))
            learner.iterate(state)
            assert state.objective < before or slope < 1e-5


def test_the_tighter_the_bound_the_faster() -> None:
    """Eq. 14: A_CD <= A_SCGIS <= A_GIS and A_IIS <= A_GIS; so GIS is last after one pass and after
    ten.
    """
    problem = drawn_problem(11, n=40, d=10)
    for passes in (1, 10):
        stop = MaxentStop(passes=passes, tolerance=0.0)
        left = {name: train_maxent(name, problem, stop, sigma2=1.0).objective for name in RUNS}
        assert left["cd"] <= left["scgis"] <= left["gis"]
        assert left["iis"] <= left["gis"]


def test_with_features_of_one_value_in_equal_numbers_iis_is_gis() -> None:
    """f#(x, y) is the same everywhere where all contexts have k attributes of value 1 seen with
    every label.
    """
    dense = np.repeat(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), 4, axis=0)
    problem = build_maxent(csr_matrix(dense), [0, 1, 2, 0, 0, 1, 2, 1, 0, 1, 2, 2])
    gis, iis = GIS(problem), IIS(problem)
    assert gis.most == 2.0
    first, second = gis.initialise(), iis.initialise()
    for _ in range(5):
        gis.iterate(first)
        iis.iterate(second)
        assert second.w == pytest.approx(first.w, abs=1e-9)


@given(
    st.floats(1e-12, 1e3),
    st.floats(0.1, 30.0),
    st.floats(1e-3, 1e3),
    st.floats(-20, 20),
    st.floats(1e-4, 10.0),
)
def test_the_sub_problem_is_solved(
    expected: float, rate: float, observed: float, weight: float, precision: float
) -> None:
    z = stationary_point(expected, rate, observed, weight, precision)
    terms = expected * math.exp(rate * z), precision * (weight + z), observed
    assert terms[0] + terms[1] - terms[2] == pytest.approx(
        0.0, abs=1e-9 * sum(map(abs, terms)) * max(1.0, rate)
    )


def test_without_a_prior_the_sub_problem_has_a_closed_form() -> None:
    assert stationary_point(2.0, 4.0, 3.0, 1.0, 0.0) == pytest.approx(math.log(3.0 / 2.0) / 4.0)


def test_without_a_prior_expectations_come_to_meet_observations() -> None:
    dense = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    labels = [0, 1, 0, 0, 1]
    problem = build_maxent(csr_matrix(dense), labels)
    for name in sorted(RUNS.keys() - {"dual-cd"}):
        run = train_maxent(name, problem, MaxentStop(passes=500, tolerance=1e-7), sigma2=math.inf)
        scores = problem.scores(run.weights, csr_matrix(dense))
        probabilities = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        assert probabilities[0] == pytest.approx([1 / 2, 1 / 2], abs=1e-4), name
        assert probabilities[2] == pytest.approx([2 / 3, 1 / 3], abs=1e-4), name


def test_sure_contexts_do_not_break_coordinate_descent() -> None:
    """Weights that drive P(y | x) to 1 - 1e-16 and beyond leave no digits for T - S; the objective
    must fall all the same.
    """
    dense = np.vstack([np.eye(3)] * 20)
    problem = build_maxent(csr_matrix(dense), [0, 1, 2] * 20)
    learner = CoordinateDescent(problem, sigma2=1e9)
    state = learner.initialise()
    state.w[:] = 45.0
    learner._evaluate(state)
    state.w[problem.features.labels == 0] = -45.0
    learner._evaluate(state)
    before = state.objective
    for _ in range(5):
        learner.iterate(state)
    assert state.objective < before
    assert state.objective < 1e-3


def test_records_say_where_a_run_stands() -> None:
    problem = drawn_problem(5)
    optimum = maxent_optimum(problem, sigma2=1.0)
    seen: list[float] = []
    stop = MaxentStop(
        passes=200, optimum=optimum, observe=lambda record, w: seen.append(record.objective)
    )
    for name in RUNS:
        seen.clear()
        run = train_maxent(name, problem, stop, sigma2=1.0)
        objectives = [record.objective for record in run.records]
        assert objectives == seen
        assert objectives == sorted(objectives, reverse=True) or name == "dual-cd"
        assert [record.passes for record in run.records] == list(range(len(run.records)))
        assert GIS(problem, sigma2=1.0).objective(run.weights) == pytest.approx(
            run.objective, rel=1e-12
        )
        last = run.records[-1]
        assert last.relative_difference == pytest.approx((run.objective - optimum) / optimum)
        assert 0 <= run.records[0].seconds <= last.seconds
        assert last.gradient_norm < run.records[0].gradient_norm


def test_prediction_and_accuracy() -> None:
    dense = np.eye(3)
    problem = build_maxent(csr_matrix(dense), [2, 0, 1])
    w = np.ones(3)
    assert problem.predict(w, csr_matrix(dense)).tolist() == [2, 0, 1]
    assert problem.predict(w, csr_matrix((1, 3))).tolist() == [
        0
    ]  # nothing known: the first of equals
    assert problem.accuracy(w, csr_matrix(dense), np.array([2, 0, 0])) == pytest.approx(2 / 3)
    with pytest.raises(ConfigError, match="expected contexts of 3 attributes, got 2"):
        problem.predict(w, csr_matrix((1, 2)))


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        ([[-1.0]], [0], "at least 0"),
        ([[np.nan]], [0], "finite attribute values"),
        ([[1.0]], [0, 1], "a label for each"),
        ([[1.0]], [-1], "expected labels in"),
        ([[1.0]], [7], r"expected labels in 0\.\.1"),
    ],
)
def test_data_that_do_not_fit_are_refused(
    values: list[list[float]], labels: list[int], message: str
) -> None:
    with pytest.raises(EgparseError, match=message):
        build_maxent(csr_matrix(np.array(values)), labels, label_count=2)


def test_bad_configurations_are_refused() -> None:
    problem = drawn_problem(1)
    names = "gis, iis, scgis, cd, cd-exact, tron, dual-cd, lbfgs"
    with pytest.raises(ConfigError, match=f"a maxent learner among {names}, got 'is'"):
        train_maxent("is", problem, MaxentStop())
    for name in RUNS:
        with pytest.raises(ConfigError, match=f"{name}: expected .*sigma2 > 0"):
            train_maxent(name, problem, MaxentStop(), sigma2=0.0)
        with pytest.raises(ConfigError, match=f"maxent learner {name}"):
            train_maxent(name, problem, MaxentStop(), depth=3)
    with pytest.raises(ConfigError, match="expected gamma in"):
        train_maxent("cd", problem, MaxentStop(), gamma=0.7)
    with pytest.raises(ConfigError, match="expected passes >= 1"):
        MaxentStop(passes=0)


class Broken(GIS):
    """A learner whose passes go wrong."""

    name = "broken"
    change = 0.0

    def _move(self, state: MaxentState) -> int:
        state.w += self.change
        return -1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (math.nan, "expected a finite objective"),
        (30.0, "expected an objective of at most"),
        (0.0, "objective to fall"),
    ],
)
def test_a_learner_that_goes_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, change: float, message: str
) -> None:
    monkeypatch.setattr(Broken, "change", change)
    with pytest.raises(
        EgparseError, match=f"broken: pass 1: expected .*{message.removeprefix('expected ')}"
    ):
        run_learner(Broken(drawn_problem(2), sigma2=1.0), MaxentStop(passes=5))


def test_weights_that_run_away_are_named() -> None:
    """An expectation that underflows to 0 has no finite step where no prior holds the weights."""
    learner = GIS(drawn_problem(2), sigma2=math.inf)
    state = learner.initialise()
    state.expected[:] = 0.0
    with pytest.raises(
        EgparseError, match="gis: pass 1: expected a finite step, got none for feature 0"
    ):
        learner.iterate(state)


def brown_slice(words: int) -> tuple[csr_matrix, np.ndarray]:
    """Words of the Brown corpus as contexts: the word, its neighbours, its suffixes and a bias;
    their tags as labels.
    """
    if not BROWN.is_file():
        pytest.skip("the Brown corpus is not there (shared/data/brown/brown.tsv)")
    with BROWN.open(encoding="utf-8") as lines:
        rows = [
            line.rstrip("\n").split("\t") for line, _ in zip(lines, range(2 * words), strict=False)
        ]
    tokens = [row for row in rows if len(row) == 2][:words]
    forms = ["", *(form for form, _ in tokens), ""]
    attributes: dict[str, int] = {}
    places: list[list[int]] = []
    for i in range(1, len(tokens) + 1):
        names = ["", f"word {forms[i]}", f"before {forms[i - 1]}", f"after {forms[i + 1]}"]
        names += [f"suffix {forms[i][-length:]}" for length in (1, 2, 3)]
        places.append(sorted({attributes.setdefault(name, len(attributes)) for name in names}))
    starts = np.cumsum([0] + [len(own) for own in places])
    matrix = csr_matrix(
        (np.ones(starts[-1]), np.concatenate(places), starts), shape=(len(tokens), len(attributes))
    )
    tags = {tag: number for number, tag in enumerate(sorted({tag for _, tag in tokens}))}
    return matrix, np.array([tags[tag] for _, tag in tokens])


@pytest.mark.compiled_only
def test_all_reach_the_optimum_on_brown() -> None:
    contexts, labels = brown_slice(1200)
    problem = build_maxent(contexts, labels)
    optimum = maxent_optimum(problem, sigma2=1.0)
    passes: dict[str, int] = {}
    for name in RUNS:
        run = train_maxent(name, problem, MaxentStop(passes=3000, optimum=optimum), sigma2=1.0)
        assert run.converged, name
        assert problem.accuracy(run.weights, contexts, labels) > 0.9, name
        passes[name] = run.records[-1].passes
    assert passes["cd"] < passes["scgis"] < passes["gis"]
