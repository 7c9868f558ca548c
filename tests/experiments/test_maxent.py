"""The maximum-entropy learners of Huang et al. 2009: their steps against root finding on features
written out, the order of their bounds, one optimum for all, and words as their problem.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.program import CORPORA, first_sentences, run
from hypothesis import given
from hypothesis import strategies as st
from learners.slices import sequence
from learners.small_problems import sequences, trees
from properties import examples
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, softmax
from tolerances import bracket, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.maxent.features import hessian_product, loss_and_expectations
from egparse.experiments.learners.maxent.probes import METHODS, newton_costs, step_reductions
from egparse.experiments.learners.maxent.steps import scaled_step
from egparse.experiments.learners.maxent.tron import certified_optimum
from egparse.experiments.problems import words
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.request import Request
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import Problem, read, squared_norm
from egparse.learners.registry import build
from egparse.sentences import Sentence
from egparse.types import Floats

NAMES = ("gis", "iis", "scgis", "cd", "cd-exact", "tron")
SEEDS = st.integers(0, 10_000)
CONSTANTS = st.sampled_from([0.1, 1.0, 10.0])


def vectors(seed: int = 3, n: int = 25, d: int = 5) -> ClassifierProblem:
    """Vectors whose values are often 1, with a constant component; three classes."""
    random = np.random.default_rng(seed)
    x = np.where(random.random((n, d)) < 0.5, random.choice([1.0, 1.0, 2.0, 0.5], size=(n, d)), 0.0)
    x[:, 0] = 1.0
    return ClassifierProblem(x, random.integers(0, 3, size=n), 3)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "words with candidates": lambda: sequences(bigrams=False),
    "words with all labels": lambda: sequences(bigrams=False, listed=False),
    "words of the sample, weights for pairs seen": lambda: sequence(bigrams=False, count=4),
    "vectors": vectors,
}


def build_for(name: str, problem: Problem, c: float, **options: Any) -> Any:
    return build(name, problem, LearnerConfig(c=c), **options)


@dataclass
class WrittenOut:
    """f_t(x, y) as a table (m, L, n), for eq. 1-13 word for word."""

    f: Floats
    greatest: Floats  # f#_t, whatever the labels that a context may have
    correct: np.ndarray
    allowed: np.ndarray
    c: float

    @classmethod
    def of(cls, problem: Problem, c: float) -> WrittenOut:
        design = problem.design()
        m, n = len(design.labels), len(design.pair_labels)
        f = np.zeros((m, design.label_count, n))
        for k, t in itertools.product(range(m), range(n)):
            own = slice(design.row_starts[k], design.row_starts[k + 1])
            same = design.attributes[own] == design.pair_attributes()[t]
            f[k, design.pair_labels[t], t] = design.values[own][same].sum()
        full = np.ones((m, design.label_count), dtype=bool)
        allowed = full if design.candidates is None else design.candidates
        return cls(f * allowed[:, :, None], f.max(axis=(0, 1)), design.labels, allowed, c)

    def scores(self, w: Floats) -> Floats:
        return np.where(self.allowed, self.f @ w, -np.inf)

    @property
    def observed(self) -> Floats:
        return np.asarray(self.f[np.arange(len(self.correct)), self.correct].sum(axis=0))

    def probabilities(self, w: Floats) -> Floats:
        return np.asarray(softmax(self.scores(w), axis=1))

    def objective(self, w: Floats) -> float:
        logs = logsumexp(self.scores(w), axis=1)
        return float(logs.sum() - w @ self.observed + self.c / 2 * w @ w)

    def gradient(self, w: Floats) -> Floats:
        expected = np.einsum("xy,xyt->t", self.probabilities(w), self.f)
        return np.asarray(expected - self.observed + self.c * w)

    def optimum(self) -> float:
        zero, most = np.zeros(self.f.shape[2]), {"ftol": 0.0, "gtol": 1e-9, "maxiter": 10_000}
        found = minimize(self.objective, zero, jac=self.gradient, method="L-BFGS-B", options=most)
        return float(found.fun)

    def slope(self, name: str, w: Floats, t: int) -> Callable[[float], float]:
        """A'_t(z) of a method at w, eq. 12 and 13."""
        p, f, unit = self.probabilities(w), self.f, np.eye(len(w))[t]
        exponents = {"gis": f.sum(axis=2).max(), "scgis": self.greatest[t], "iis": f.sum(axis=2)}

        def slope(z: float) -> float:
            if name == "cd":
                return float(self.gradient(w + z * unit)[t])
            expected = (p * f[:, :, t] * np.exp(z * exponents[name])).sum()
            return float(expected + self.c * (w[t] + z) - self.observed[t])

        return slope

    def change(self, w: Floats, t: int, z: float) -> float:
        """A_CD(z)."""
        return self.objective(w + z * np.eye(len(w))[t]) - self.objective(w)

    def passed(self, name: str, w: Floats) -> Floats:
        """w after a pass of a learner that solves sub-problems, by root finding, or of cd."""
        start, w = w.copy(), w.copy()
        for t in range(len(w)):
            at = start if name in ("gis", "iis") else w
            w[t] += self.newton(at, t) if name == "cd" else self.root(name, at, t)
        return w

    def root(self, name: str, w: Floats, t: int) -> float:
        slope, width = self.slope(name.removesuffix("-exact"), w, t), 1.0
        while not slope(-width) <= 0 <= slope(width):
            width *= 2
        return float(brentq(slope, -width, width, xtol=1e-14))

    def newton(self, w: Floats, t: int) -> float:
        """Eq. 15 and 16."""
        p, f = self.probabilities(w), self.f[:, :, t]
        slope = self.gradient(w)[t]
        z = -slope / (((p * f**2).sum(axis=1) - (p * f).sum(axis=1) ** 2).sum() + self.c)
        while self.change(w, t, z) > 0.001 * z * slope + 1e-13:
            z *= 0.5
        return float(z)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", ["gis", "iis", "scgis", "cd", "cd-exact"])
def test_steps_are_those_of_root_finding(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]()
    written = WrittenOut.of(problem, 0.1)
    learner = build_for(name, problem, 0.1)
    state = learner.initialise()
    w = np.zeros_like(state.w)
    for _ in range(2):
        learner.iterate(state)
        w = written.passed(name, w)
        assert state.w == pytest.approx(w, abs=1e-7 if name == "cd-exact" else 1e-9)
        assert state.objective == pytest.approx(written.objective(w), rel=1e-9)


@examples(20)
@given(SEEDS, CONSTANTS, st.integers(0, 3))
def test_the_bounds_are_ordered(seed: int, c: float, passes: int) -> None:
    """Eq. 14, for A_t(z) as the integral of A'_t (A_t(0) = 0, eq. 6)."""
    problem = vectors(seed, n=10, d=3)
    written, learner = WrittenOut.of(problem, c), build_for("cd", problem, c)
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    for t, z in itertools.product(range(len(state.w)), (-3.0, -0.5, -0.01, 0.01, 0.5, 3.0)):
        found = {
            name: quad(written.slope(name, state.w, t), 0.0, z, epsrel=1e-11)[0]
            for name in ("scgis", "iis", "gis")
        }
        found["cd"] = written.change(state.w, t, z)
        room = 1e-9 * max(1.0, *map(abs, found.values()))
        for low, high in (("cd", "scgis"), ("scgis", "gis"), ("cd", "iis"), ("iis", "gis")):
            assert found[low] <= found[high] + room


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", NAMES)
def test_all_reach_the_optimum(name: str, kind: str) -> None:
    """That of SciPy; each lower bound is one; and all descend (Theorem 1)."""
    problem, c = PROBLEMS[kind](), 0.5
    written = WrittenOut.of(problem, c)
    best = written.optimum()
    learner = build_for(name, problem, c)
    state = learner.initialise()
    passed = [learner.certificate(state)]
    assert not read(problem).any()
    assert passed[0].primal == pytest.approx(np.log(written.allowed.sum(axis=1)).sum())
    for _ in range(1500):
        learner.iterate(state)
        passed.append(learner.certificate(state))
        if passed[-1].relative_gap <= 1e-5:
            break
    bracket(passed, best, 1e-8 * best)
    assert passed[-1].relative_gap <= 1e-5
    rounded = 1 + rounding(100)  # sums over contexts and labels
    assert all(b.primal <= a.primal * rounded for a, b in itertools.pairwise(passed))
    assert passed[-1].primal == pytest.approx(written.objective(state.w), rel=1e-10)
    slope = np.linalg.norm(written.gradient(state.w))
    assert passed[-1].gap == pytest.approx(slope**2 / (2 * c), rel=1e-4, abs=1e-9)
    total = c / 2 * squared_norm(problem)  # of v as the problem holds it
    for i in range(learner.n):
        scores = problem.scores(i)
        total += LOG_LINEAR.value(problem, i, scores, np.empty(len(scores)))
    assert total == pytest.approx(passed[-1].primal, rel=1e-9)


@given(
    st.floats(1e-12, 1e3), st.floats(0.1, 30), st.floats(1e-3, 1e3), st.floats(-20, 20),
    st.floats(1e-4, 10),
)  # fmt: skip
def test_a_sub_problem_of_scaling_is_solved(
    expected: float, rate: float, observed: float, weight: float, c: float
) -> None:
    z = scaled_step(expected, rate, observed, weight, c)
    terms = expected * math.exp(rate * z), c * (weight + z), observed
    assert terms[0] + terms[1] - terms[2] == pytest.approx(
        0.0, abs=1e-9 * sum(map(abs, terms)) * max(1.0, rate)
    )


def test_with_less_and_less_of_a_prior_a_step_is_that_of_the_closed_form() -> None:
    """Section 2.3: log(observed / expected) / f#."""
    assert scaled_step(2.0, 4.0, 3.0, 1.0, 1e-9) == pytest.approx(math.log(3 / 2) / 4, abs=1e-8)


@examples(20)
@given(SEEDS)
def test_products_with_the_hessian_are_differences_of_gradients(seed: int) -> None:
    features = build_for("tron", vectors(seed), 1.0).features
    w, v = np.random.default_rng(seed).normal(size=(2, len(features.labels)))
    probabilities = np.empty((features.context_count, 3))
    ahead, behind, found = np.empty((3, len(w)))
    loss_and_expectations(features, w + 1e-6 * v, probabilities, ahead)
    loss_and_expectations(features, w - 1e-6 * v, probabilities, behind)
    loss_and_expectations(features, w, probabilities, found)
    hessian_product(features, probabilities, v, np.empty(3), found)
    assert found == pytest.approx((ahead - behind) / 2e-6, abs=1e-6)


def test_near_the_optimum_every_step_is_a_full_newton_step() -> None:
    """Section 3.2; and there one Newton step on A_CD beats the minima of all looser bounds."""
    learner = build_for("cd", vectors(), 0.5)
    state = learner.initialise()
    for _ in range(20):
        learner.iterate(state)
    assert learner.certificate(state).details == {"full_steps": 1.0}
    found = step_reductions(vectors(), 2.0, passes=(0, 5))
    for name in METHODS[1:]:
        assert found["cd"]["5"] > found[name]["5"] > 0.0


def test_costs_of_newton_directions_are_measured() -> None:
    costs = newton_costs(vectors(n=100), 10.0)
    assert set(costs) == {"length", *(f"{m} {k}" for m in METHODS for k in ("first", "further"))}
    assert all(set(row) == {"16", "64"} and min(row.values()) >= 0 for row in costs.values())


def test_sure_contexts_do_not_break_coordinate_descent() -> None:
    """Weights that drive P(y | x) to 1 - 1e-16 and beyond leave no digits for T - S; the objective
    must fall all the same.
    """
    learner = build_for(
        "cd", ClassifierProblem(np.vstack([np.eye(3)] * 20), [0, 1, 2] * 20, 3), 1e-9
    )
    state = learner.initialise()
    for weights in (45.0, np.where(learner.features.labels == 0, -45.0, 45.0)):
        state.w[:] = weights
        learner._evaluate(state)
    before = state.objective
    for _ in range(5):
        learner.iterate(state)
    assert state.objective < min(before, 1e-3)


def test_the_optimum_is_certified() -> None:
    problem = vectors()
    problem.add(0, np.array([1.0, -1.0, 0.0]))
    before = read(problem)
    primal, dual = certified_optimum(problem, 2.0, 1e-9)
    best = WrittenOut.of(problem, 0.5).optimum()
    assert dual <= best * (1 + 1e-10)
    assert best <= primal * (1 + 1e-10)
    assert primal - dual <= 1e-9 * dual
    assert (read(problem) == before).all()
    with pytest.raises(EgparseError, match="expected a relative gap of 0"):
        certified_optimum(problem, 2.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_said(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} fits choices .*label bigrams"):
        build(name, sequences(), LearnerConfig())
    with pytest.raises(ConfigError, match=f"{name} fits choices .*TreeProblem"):
        build(name, trees(), LearnerConfig())
    with pytest.raises(ConfigError, match="expect the log-linear loss"):
        build(name, vectors(), LearnerConfig(gamma=1.0))
    with pytest.raises(ConfigError, match="learners: expected c > 0"):
        build(name, vectors(), LearnerConfig(c=0.0))
    with pytest.raises(ConfigError, match=f"learner {name}: .*temperature"):
        build(name, vectors(), LearnerConfig(), temperature=1)
    with pytest.raises(EgparseError, match="expected finite attribute values of at least 0"):
        build(name, ClassifierProblem([[1.0], [-1.0]], [0, 1], 2), LearnerConfig())


@pytest.mark.parametrize("learner", ["cd-exact", "tron"])
def test_choices_are_trained_from_the_command_line(learner: str, tmp_path: Path) -> None:
    corpus = first_sentences(CORPORA / "en_sample-train.conllu", 25, tmp_path / "corpus.conllu")
    settings = ("--set", 'layers=["upos"]', "--set", "upos.bigrams=false")
    arguments = ("--learner", learner, "-o", tmp_path / "model.msgpack", "--quiet", "--json")
    said = json.loads(run("train", corpus, *settings, *arguments).stdout)
    assert said["tasks"]["upos"]["kept"] >= 1


def test_tags_of_brown_lose_their_marks() -> None:
    marked = {"nn-tl-hl": "nn", "fw-nn-tl": "nn", "md*": "md", "ppss+md": "ppss", "*": "*"}
    assert {tag: words.reduced(tag) for tag in marked} == marked


def test_brown_is_read_by_sentences_and_split(tmp_path: Path) -> None:
    path = tmp_path / "brown.tsv"
    path.write_text("The\tat-hl\ndog\tnn\n\n\nbarks\tvbz", encoding="utf-8")
    read_ones = words.read_brown(path)
    assert [own.forms for own in read_ones] == [["The", "dog"], ["barks"]]
    assert [own.xpos for own in read_ones] == [["at", "nn"], ["vbz"]]
    many = [Sentence(forms=[f"w{i}"], xpos=["x"]) for i in range(100)]
    _, *parts = words.split_brown(many, 100, 1)
    assert [len(part) for part in parts] == [72, 8, 20]
    assert len({own.forms[0] for part in parts for own in part}) == 100


@pytest.mark.parametrize("make", [words.tagging, words.chunking])
def test_words_are_learned_and_scored(make: Callable[..., Any]) -> None:
    setup = make(Request(quick=True), 1)
    learner = build_for("cd", setup.problem, 0.1)
    state = learner.initialise()
    before = setup.score(1.0)
    for _ in range(8):
        learner.iterate(state)
    assert setup.score(1.0) > before
    correct, gold, found = setup.outcomes(1.0).sum(axis=0).tolist()
    assert setup.test(1.0) == pytest.approx(200 * correct / (gold + found))
    certificate = learner.certificate(state)
    assert certificate.dual <= setup.optimum(0.1) <= certificate.primal
    assert len(setup.problem.design().labels) == setup.facts["training words"]
