"""All learners of one convex problem reach the same optimum, whatever the structure: small random
problems and slices of a treebank.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners import slices
from learners.small_problems import sequences, trees
from properties import examples
from tolerances import SINGLE, rounding

from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import build

PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "chain": lambda seed: sequences(seed),
    "multiclass": lambda seed: sequences(seed, bigrams=False),
    "projective": lambda seed: trees(seed, kind="projective"),
    "non-projective": lambda seed: trees(seed, kind="non-projective", chains=False),
}
SLICES: dict[str, Callable[[], Problem]] = {
    "chain": lambda: slices.sequence(bigrams=True, count=8),
    "multiclass": lambda: slices.sequence(bigrams=False, count=8),
    "projective": lambda: slices.tree("projective", count=8),
    "non-projective": lambda: slices.tree("non-projective", count=8),
}
TREEBANK = [
    pytest.param(kind, marks=[pytest.mark.nightly] * ("projective" in kind)) for kind in SLICES
]
"""Trees are agreed on by small random problems in the fast suite."""
WITH_BOUND = ("eg-online", "eg-cyclic", "eg-batch", "lbfgs", "cg")
MAXENT = ("gis", "iis", "scgis", "cd", "cd-exact", "tron")
MARGIN = (math.inf, 1.0)
GAP = 2e-5
"""The relative gap at which a learner ends."""
ROUNDING = rounding(100, eps=SINGLE)
"""Of scores of up to 100 features: the weights of trees are in single precision."""


def best(
    name: str, problem: Problem, config: LearnerConfig, gap: float, most: int, **options: Any
) -> tuple[float, float]:
    """Least primal and greatest dual of a run that ends at the relative gap, or after so many
    passes.
    """
    problem.reset()
    learner = build(name, problem, config, **options)
    state = learner.initialise(3.0)
    primal, dual = math.inf, -math.inf
    for _ in range(most):
        learner.iterate(state)
        now = learner.certificate(state)
        primal, dual = min(primal, now.primal), max(dual, now.dual)
        if primal - dual <= gap * abs(dual):
            break
    return primal, dual


def agree_log_linear(problem: Problem, c: float, multiclass: bool, sgd_passes: int = 2000) -> None:
    config = LearnerConfig(c=c)
    bounds = {name: best(name, problem, config, GAP, 3000) for name in WITH_BOUND}
    optimum = max(dual for _, dual in bounds.values())
    # A learner ends with its primal within the gap of its dual, which is not above the optimum;
    # nor is the greatest dual, which is not below it by more than that.
    for name, (primal, dual) in bounds.items():
        assert primal - dual <= GAP * abs(dual), name
        assert primal >= optimum * (1 - ROUNDING), name
        assert primal == pytest.approx(optimum, rel=GAP + ROUNDING), name
    if c >= 2:  # its rate, 1 / (1 + k / n), outruns a weaker pull towards 0
        assert best("sgd", problem, config, 0.0, sgd_passes, eta0=1.0)[0] == pytest.approx(
            optimum, rel=0.05
        )
    for name in MAXENT if multiclass else ():
        primal, _ = best(name, problem, config, GAP, 3000)
        assert primal == pytest.approx(optimum, rel=2 * GAP), name


def agree_max_margin(problem: Problem, c: float) -> None:
    """The optimum lies between the dual of EG and the primal of working sets; EG's own primal
    has kinks to jump to and fro at.
    """
    config = LearnerConfig(beta=MARGIN[0], gamma=MARGIN[1], c=c)
    primal, dual = best("n-slack", problem, config, 2e-4, 500, epsilon=1e-6)
    _, eg_dual = best("eg-online", problem, config, 5e-4, 300)
    _, mixed = best("frank-wolfe", problem, config, 2e-3, 3000)
    assert primal - dual <= 2e-4 * abs(dual)
    assert max(eg_dual, mixed) <= primal * (1 + ROUNDING)
    assert mixed == pytest.approx(primal, rel=5e-3)
    assert eg_dual == pytest.approx(primal, rel=1e-3)  # EG may end with its passes, not its gap


@pytest.mark.parametrize("kind", list(PROBLEMS))
@examples(3)
@given(seed=st.integers(0, 10_000), c=st.sampled_from([0.5, 2.0, 10.0]))
def test_log_linear(kind: str, seed: int, c: float) -> None:
    agree_log_linear(PROBLEMS[kind](seed), c, kind == "multiclass")


@pytest.mark.parametrize("kind", list(PROBLEMS))
@examples(3)
@given(seed=st.integers(0, 10_000), c=st.sampled_from([2.0, 10.0]))
def test_max_margin(kind: str, seed: int, c: float) -> None:
    agree_max_margin(PROBLEMS[kind](seed), c)


@pytest.mark.parametrize("kind", TREEBANK)
def test_log_linear_on_a_treebank(kind: str) -> None:
    agree_log_linear(SLICES[kind](), 3.0, kind == "multiclass", sgd_passes=200)


@pytest.mark.parametrize("kind", TREEBANK)
def test_max_margin_on_a_treebank(kind: str) -> None:
    agree_max_margin(SLICES[kind](), 10.0)
