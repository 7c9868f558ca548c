"""Scores that are there before anything is learned: the optimum is that of the problem with them,
and its certificate holds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.enumerated import EnumeratedProblem, random_problem
from learners.small_problems import sequences, trees
from scipy.optimize import minimize
from scipy.special import logsumexp
from tolerances import DOUBLE, bracket, rounding, stored_slack

from egparse.learners.learner import LearnerConfig
from egparse.learners.offset_problem import OffsetProblem, scores_of
from egparse.learners.problem import Problem, read, write
from egparse.learners.registry import build
from egparse.types import Floats

MARGIN = (math.inf, 1.0)


def with_base(problem: EnumeratedProblem, seed: int) -> tuple[EnumeratedProblem, Floats, Floats]:
    """A problem, the weights of a base, and the scores that these give its parts."""
    base = np.random.default_rng(seed).normal(size=len(problem.v))
    problem.v[:] = base
    offsets = np.concatenate([problem.scores(i) for i in range(len(problem.structures))])
    problem.reset()
    return problem, base, offsets


def objective(
    problem: EnumeratedProblem, base: Floats, c: float, beta: float, gamma: float, w: Floats
) -> float:
    """sum_i L_i(w) + C/2 |w - base|^2, by listing all structures."""
    value = c / 2 * float((w - base) @ (w - base))
    for i in range(len(problem.structures)):
        differences, costs = problem.differences(i)
        scores = differences @ w + gamma * costs
        value += float(scores.max() if beta == math.inf else logsumexp(beta * scores) / beta)
    return value


def optimum(problem: EnumeratedProblem, base: Floats, c: float, beta: float, gamma: float) -> float:
    found = minimize(
        lambda w: objective(problem, base, c, beta, gamma, w),
        base,
        method="L-BFGS-B",
        options={"ftol": 1e-13},
    )
    return float(found.fun)


@pytest.mark.parametrize(
    ("name", "seed"),
    [("eg-online", 1), ("eg-cyclic", 2), ("eg-batch", 1), ("lbfgs", 2), ("cg", 1)],
)
def test_log_linear_learners_reach_the_optimum_around_the_base_and_prove_it(
    name: str, seed: int
) -> None:
    problem, base, offsets = with_base(random_problem(seed), seed)
    learner = build(
        name, OffsetProblem(problem, offsets, beta=1.0, gamma=0.0), LearnerConfig(c=0.7)
    )
    state = learner.initialise(3.0)
    for _ in range(200):
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.relative_gap < 1e-4
    # the gradient of the solver is numeric: its error, and the optimum's, is its square at most
    least = optimum(problem, base, 0.7, 1.0, 0.0)
    bracket([certificate], least, DOUBLE**0.5 * least + stored_slack(problem.features, 0.7))
    w = base + state.scale * problem.v
    assert objective(problem, base, 0.7, 1.0, 0.0, w) == pytest.approx(
        certificate.primal,
        rel=rounding(2 * 400 * 12),  # |v|^2 is a sum over all steps
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_max_margin_of_eg_and_of_working_sets_meet(seed: int) -> None:
    problem, base, offsets = with_base(random_problem(seed), seed)
    config = LearnerConfig(beta=MARGIN[0], gamma=MARGIN[1], c=2.0)
    duals, primals = {}, []
    for name in ("eg-online", "n-slack"):
        learner = build(
            name, OffsetProblem(problem, offsets, beta=MARGIN[0], gamma=MARGIN[1]), config
        )
        state = learner.initialise(3.0)
        for _ in range(300 if name == "eg-online" else 60):
            learner.iterate(state)
        certificate = learner.certificate(state)
        with learner.model_weights(state):
            w = base + state.scale * problem.v
        duals[name] = certificate.dual
        reached = objective(problem, base, 2.0, *MARGIN, w)
        assert reached == pytest.approx(certificate.primal, rel=rounding(2 * 600 * 12))
        primals.append(certificate.primal)
    slack = stored_slack(problem.features, 2.0) + rounding(100, primals[0])
    assert max(duals.values()) <= min(primals) + slack
    assert duals["eg-online"] == pytest.approx(duals["n-slack"], rel=2e-3)


@pytest.mark.parametrize(
    ("name", "beta", "gamma"),
    [("dca", 1.0, 0.0), ("dca", 1.0, 4.0), ("dca", 3.0, 0.5), ("dca", *MARGIN), ("sgd", 2.0, 0.0)],
)
def test_primal_learners_see_the_loss_with_offsets(name: str, beta: float, gamma: float) -> None:
    problem, base, offsets = with_base(random_problem(3), 3)
    config = LearnerConfig(beta=beta, gamma=gamma, c=2.0)
    options = {"averaged": False} if name == "dca" else {"eta0": 0.1}
    learner = build(
        name, OffsetProblem(problem, offsets, beta=beta, gamma=gamma), config, **options
    )
    state = learner.initialise()
    before = objective(problem, base, 2.0, beta, gamma, base)
    for _ in range(3):
        learner.iterate(state)
    w = base + state.scale * problem.v
    assert learner.certificate(state).primal == pytest.approx(
        objective(problem, base, 2.0, beta, gamma, w)
    )
    assert objective(problem, base, 2.0, beta, gamma, w) < before


def test_the_perceptron_corrects_what_the_base_gets_wrong() -> None:
    problem, base, offsets = with_base(random_problem(4), 4)
    learner = build(
        "perceptron", OffsetProblem(problem, offsets, beta=math.inf, gamma=0.0), LearnerConfig()
    )
    state = learner.initialise()

    def wrong(w: Floats) -> int:
        return sum(
            int((problem.differences(i)[0] @ w).argmax() != 0)
            for i in range(len(problem.structures))
        )

    learner.iterate(state)
    first = problem.v.copy()
    assert (first != 0).any() == (wrong(base) > 0)
    for _ in range(30):
        learner.iterate(state)
    assert wrong(base + problem.v) <= wrong(base)


def test_mira_takes_its_margins_from_base_and_weights() -> None:
    """Where the base has every margin already there is nothing to learn."""
    problem = trees(2)
    gold = np.concatenate([problem.gold(i) for i in range(5)])
    learner = build(
        "mira",
        OffsetProblem(problem, 100.0 * gold, beta=math.inf, gamma=1.0),
        LearnerConfig(beta=math.inf, gamma=1.0),
    )
    state = learner.initialise()
    learner.iterate(state)
    assert not read(problem).any()
    assert learner.certificate(state).primal == 0.0


@pytest.mark.parametrize("make", [sequences, trees])
def test_a_base_of_zeros_is_none(make: type) -> None:
    problem: Problem = make(1)
    certificates = []
    for own in (
        problem,
        OffsetProblem(problem, np.zeros(problem.part_starts[-1]), beta=1.0, gamma=0.0),
    ):
        learner = build("eg-online", own, LearnerConfig(c=1.0))
        state = learner.initialise(3.0)
        for _ in range(150):
            learner.iterate(state)
        certificates.append(learner.certificate(state))
    # with and without, the optimum is between dual and primal
    gap = max(each.relative_gap for each in certificates)
    assert gap < 1e-4
    assert certificates[0].primal == pytest.approx(certificates[1].primal, rel=gap)
    assert certificates[0].dual == pytest.approx(certificates[1].dual, rel=gap)


def test_the_greater_c_the_nearer_is_the_base() -> None:
    problem, _, offsets = with_base(random_problem(5), 5)
    lengths = []
    for c in (1.0, 100.0, 1e6):
        learner = build(
            "eg-online", OffsetProblem(problem, offsets, beta=1.0, gamma=0.0), LearnerConfig(c=c)
        )
        state = learner.initialise(3.0)
        for _ in range(60):
            learner.iterate(state)
        lengths.append(float(np.linalg.norm(state.scale * problem.v)))
    assert lengths[0] > lengths[1] > lengths[2]
    # |v| is at most that of all parts moved wholly, and w = v / C
    assert lengths[2] <= sum(float(np.abs(own).sum()) for own in problem.features) / 1e6


def test_what_a_problem_has_beside_its_contract() -> None:
    """Groups and k best structures are passed on; a compiled sweep, which knows of no offsets, is
    not.
    """
    for make in (sequences, trees):
        problem = make(1)
        own = OffsetProblem(problem, np.zeros(problem.part_starts[-1]), beta=1.0, gamma=0.0)
        assert own.offers("groups") == problem.offers("groups")
        assert not own.offers("sweep")
        assert hasattr(own, "k_best")


def test_scores_of_a_problem_are_those_at_its_weights() -> None:
    problem = trees(2)
    write(problem, np.random.default_rng(1).normal(size=sum(own.size for own in problem.vectors())))
    scores = scores_of(problem)
    for i in range(5):
        own = scores[problem.part_starts[i] : problem.part_starts[i + 1]]
        np.testing.assert_array_equal(own, problem.scores(i))


def test_offsets_that_do_not_fit_are_refused() -> None:
    problem = sequences(1)
    total = int(problem.part_starts[-1])
    with pytest.raises(ValueError, match=f"expected {total} finite offsets"):
        OffsetProblem(problem, np.zeros(total - 1), beta=1.0, gamma=0.0)
    with pytest.raises(ValueError, match="finite"):
        OffsetProblem(problem, np.full(total, -np.inf), beta=1.0, gamma=0.0)
