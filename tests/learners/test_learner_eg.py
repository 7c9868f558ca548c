"""Online EG as an optimiser, for every member of the family of losses: monotone, certified, and at
the optimum that independent solvers find.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import dual_of, eg_of, passes
from learners.slices import EACH, SLICES
from learners.small_problems import sample_trees, trees
from scipy.optimize import minimize
from scipy.special import logsumexp
from tolerances import SINGLE, bracket, rounding, stored_slack

from egparse.experiments.learners.published_eg import (
    PublishedConfig,
)
from egparse.learners.eg.online import (
    MIN_VISIT_PROBABILITY,
    EGConfig,
    OnlineEG,
    sample_examples,
    visit_probabilities,
)
from egparse.learners.eg.step import StepBuffers, propose_step_in_groups
from egparse.learners.learner import Certificate, LearnerConfig, in_blocks
from egparse.learners.losses import NAMED, Loss
from egparse.learners.registry import build
from egparse.parsing.tree_inference import Trees

NAMED_LOSSES = ("log-linear", "max-margin")
C = 2.0
FINITE = [(1.0, 1.0), (1.0, 4.0), (0.5, 0.3), (3.0, 1.0), (2.0, 0.0)]
MEMBERS = [Loss(*own) for own in [*FINITE, (np.inf, 3.0)]]
losses = pytest.mark.parametrize("loss", NAMED_LOSSES)
searches = pytest.mark.parametrize("published", [False, True], ids=["quadratic", "as-published"])
seeds = pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])


def configured(loss: str, published: bool, c: float = 2.0) -> EGConfig:
    return (
        PublishedConfig.under(NAMED[loss], c=c)
        if published
        else EGConfig.under(NAMED[loss], c=c, search="quadratic")
    )


def run_until(eg: OnlineEG, gap: float, most: int = 400) -> list[Certificate]:
    """The certificates of the passes until the relative gap is small enough."""
    certificates = []
    for certificate in passes(eg, eg.initialise(), most):
        certificates.append(certificate)
        if certificate.relative_gap < gap:
            break
    return certificates


@pytest.mark.parametrize(
    "config",
    [
        *(configured(loss, published) for loss in NAMED_LOSSES for published in (False, True)),
        *(
            EGConfig.under(loss, c=2.0, search=search)
            for loss in MEMBERS
            for search in ("halving", "quadratic")
        ),
    ],
    ids=str,
)
@seeds
def test_dual_never_falls_and_v_is_its_expression(config: EGConfig, seed: int) -> None:
    problem = random_problem(seed)
    eg = eg_of(problem, config)
    state = eg.initialise(3.0)
    dual, norm, largest = eg.dual(state), state.squared_norm, 0.0
    steps, evaluations = eg.n, state.evaluations
    for _ in range(6):
        for i in range(eg.n):
            increase = eg.update(state, i)
            steps += state.evaluations - evaluations
            evaluations = state.evaluations
            # |v|^2 and the dual are sums over all steps and attempts, of numbers up to the largest
            largest = max(largest, state.squared_norm, abs(dual))
            lost = rounding(2 * steps + eg.n, largest * (1 + 1 / config.c))
            # a fall of 1e-9, or of that share of the move, passes for none (``accept_step``)
            assert increase >= -1e-9 * (1 + abs(state.squared_norm - norm) / config.c) - lost
            assert eg.dual(state) - dual == pytest.approx(increase, abs=lost)
            dual, norm = eg.dual(state), state.squared_norm
            expected, v, v_error, dual_error = dual_of(problem, state.theta, config.loss, state.c)
            assert (np.abs(problem.v - v) <= v_error).all()
            assert dual == pytest.approx(expected, abs=dual_error + lost)
            assert norm == pytest.approx(problem.v @ problem.v, abs=lost)


@searches
@seeds
@pytest.mark.parametrize("c", [0.2, 2.0])
def test_log_linear_optimum(published: bool, seed: int, c: float) -> None:
    problem = random_problem(seed)
    eg = eg_of(problem, configured("log-linear", published, c))
    certificates = run_until(eg, 2e-6)
    assert certificates[-1].relative_gap < 2e-6
    optimum = log_linear_optimum(problem, c)
    bracket(certificates, optimum, PROVEN * optimum + stored_slack(problem.features, c))


@searches
@seeds
def test_max_margin_optimum(published: bool, seed: int) -> None:
    problem = random_problem(seed)
    eg = eg_of(problem, configured("max-margin", published))
    certificates = run_until(eg, 5e-4)
    assert certificates[-1].relative_gap < 5e-4
    optimum = max_margin_optimum(problem, 2.0)
    bracket(certificates, optimum, PROVEN * optimum + stored_slack(problem.features, 2.0))


@losses
def test_certificate_counts_every_evaluation(loss: str) -> None:
    problem = random_problem(4)
    eg = eg_of(problem, configured(loss, published=True))
    state = eg.initialise()
    before = problem.marginals
    calls = 0

    def counted(i: int, potentials: np.ndarray, out: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return before(i, potentials, out)

    problem.marginals = counted  # type: ignore[method-assign]
    for _ in range(3):
        eg.iterate(state)
    made = calls
    certificate = eg.certificate(state)
    assert made >= 3 * eg.n
    assert certificate.effective_iterations == made / eg.n


def test_annealing_ends_at_c() -> None:
    config = EGConfig(c=0.1, anneal_from=2.0, anneal_decay=0.5, anneal_hold=2)
    assert [config.c_at(k) for k in range(4)] == pytest.approx([2.0, 2.0, 1.05, 0.575])
    assert config.c_at(60) == pytest.approx(0.1, rel=2.0 * 0.5**58 / 0.1)
    assert EGConfig(c=0.3).c_at(0) == 0.3
    problem = random_problem(6)
    eg = OnlineEG(problem, EGConfig(c=0.5, anneal_from=5.0, anneal_decay=0.6))
    state = eg.initialise()
    assert state.c == 5.0
    last = list(passes(eg, state, 60))[-1]
    assert state.c == pytest.approx(0.5)
    assert last.relative_gap < 1e-5
    optimum = log_linear_optimum(problem, 0.5)
    bracket([last], optimum, PROVEN * optimum + stored_slack(problem.features, 0.5))


def test_learning_rates_neither_die_nor_grow_at_the_optimum() -> None:
    eg = OnlineEG(random_problem(7), EGConfig(c=2.0))
    state = eg.initialise()
    for _ in range(60):
        eg.iterate(state)
    assert state.eta.min() > 1e-3
    assert state.eta.max() <= 1.0


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["spread", "one", "none"])
def test_visits_do_the_share_of_the_work(share: float, kind: str) -> None:
    random = np.random.default_rng(1)
    gains = {
        "spread": np.exp(4 * random.normal(size=500)),
        "one": np.eye(500)[3],
        "none": np.zeros(500),
    }[kind]
    sizes = random.uniform(1, 30, size=500)
    chances = visit_probabilities(gains, sizes, share)
    assert chances @ sizes == pytest.approx(share * sizes.sum(), rel=1e-6)
    assert chances.min() >= min(share, MIN_VISIT_PROBABILITY) - 1e-12
    assert chances.max() <= 1.0
    chosen = sample_examples(gains, sizes, share, random)
    assert len(set(chosen.tolist())) == len(chosen)


GROUPED = EGConfig(
    c=2.0, curvature=35.0, visit_cost="examples", prioritise_below_gain=0.3, round_fraction=0.4
)


@pytest.mark.parametrize("kind", ["projective", "non-projective"])
@pytest.mark.parametrize("curvature", [0.0, 1.0, 35.0])
def test_dual_never_falls_with_rates_for_groups(kind: Trees, curvature: float) -> None:
    problem = trees(2, kind=kind, chains=kind == "projective")
    eg = OnlineEG(problem, replace(GROUPED, curvature=curvature))
    state = eg.initialise(3.0)
    dual, norm = eg.dual(state), state.squared_norm
    for _ in range(8):
        for i in range(eg.n):
            increase = eg.update(state, i)
            # Weights are in single precision: |v|^2 moves with the rounding of v where it moves,
            # 4 templates at each of the n arcs of a tree, on either side.
            lost = rounding(8 * 5, abs(state.squared_norm) / state.c + abs(dual), SINGLE)
            assert increase >= -1e-9 * (1 + abs(state.squared_norm - norm) / state.c)
            assert eg.dual(state) == pytest.approx(dual + increase, abs=lost)
            dual, norm = eg.dual(state), state.squared_norm


@pytest.mark.parametrize(
    ("kind", "gamma"), [("projective", 0.0), ("projective", 2.0), ("non-projective", 0.0)]
)
def test_rates_for_groups_lead_to_the_same_optimum(kind: Trees, gamma: float) -> None:
    optima = []
    for curvature in (0.0, 35.0):
        config = replace(GROUPED, c=5.0, gamma=gamma, curvature=curvature)
        eg = OnlineEG(sample_trees(12, kind), config)
        last = run_until(eg, 1e-5)[-1]
        assert last.relative_gap < 1e-5
        optima.append(last.primal)
    assert optima[0] == pytest.approx(optima[1], rel=1e-5)  # each is at most its gap too high


def test_a_group_whose_alternatives_all_shift_keeps_its_place() -> None:
    """Adding a constant to all heads of a word changes no tree's probability, and must not change
    the step's either.
    """
    stored = np.array([0.2, 0.8, 0.5, 0.5], dtype=np.float32)
    groups = np.array([1, 1, 2, 2], dtype=np.int16)
    rule = GROUPED.rule(2.0)
    shift = np.array([3.0, 3.0, -1.0, -1.0])

    def moved(scores: np.ndarray) -> np.ndarray:
        trial = np.empty(4)
        parts = StepBuffers(
            np.zeros(4, dtype=np.float32), stored, scores, scores, trial, np.empty(4), np.empty(4)
        )
        propose_step_in_groups(parts, rule, 0.5, groups, np.empty(6))
        return trial

    scores = np.array([1.0, -2.0, 0.5, 4.0])
    apart = moved(scores + shift) - moved(scores)
    # a trial is rounded to single precision, before it is taken apart
    near = 2 * rounding(1, float(np.abs(moved(scores + shift)).max()), SINGLE)
    assert apart[0] == pytest.approx(apart[1], abs=near)
    assert apart[2] == pytest.approx(apart[3], abs=near)
    one_binary_part = 0.5 / (1.0 + rule.curvature / 2.0 * (0.2 * 0.8 + 0.8 * 0.2))
    assert moved(scores)[0] == pytest.approx(one_binary_part * 0.5, rel=SINGLE)


def test_large_corpora_are_visited_block_by_block() -> None:
    random = np.random.default_rng(3)
    small = random.permutation(1000)
    assert in_blocks(small, 1000, random) is small
    n = 100_000
    order = in_blocks(random.permutation(n), n, random)
    assert (np.sort(order) == np.arange(n)).all()
    blocks = order // 4096
    changes = np.flatnonzero(np.diff(blocks))
    assert len(changes) == blocks.max()  # no block is returned to
    assert (np.diff(blocks[changes]) != 1).any()  # nor are they in order
    assert (np.diff(order[:1000]) != 1).any()


def optimum_of(problem: EnumeratedProblem, beta: float, gamma: float) -> float:
    """min sum_i log sum_y exp(beta (w . F'(y - gold) + gamma cost)) / beta + C/2 |w|^2, by L-BFGS
    over the enumerated structures.
    """
    own = [problem.differences(i) for i in range(len(problem.structures))]

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = C / 2 * float(w @ w), C * w
        for moved, costs in own:
            scores = beta * (moved @ w + gamma * costs)
            log_z = logsumexp(scores)
            value += float(log_z) / beta
            gradient = gradient + np.exp(scores - log_z) @ moved
        return value, gradient

    start = np.zeros(len(problem.v))
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    # the objective is strongly convex: the optimum is at most |gradient|^2 / (2C) below
    assert found.jac @ found.jac / (2 * C) <= 1e-10 * found.fun
    return float(found.fun)


@pytest.mark.parametrize("learner", ["eg-online", "eg-cyclic", "eg-batch"])
@pytest.mark.parametrize(("beta", "gamma"), FINITE)
def test_primal_and_dual_meet_at_the_optimum(learner: str, beta: float, gamma: float) -> None:
    problem = random_problem(3)
    optimum = optimum_of(problem, beta, gamma)
    eg = build(learner, problem, LearnerConfig(beta=beta, gamma=gamma, c=C))
    state = eg.initialise()
    for certificate in passes(eg, state, 1500):
        if certificate.relative_gap < 1e-5:
            break
    assert certificate.relative_gap < 1e-5
    bracket([certificate], optimum, 1e-10 * optimum + stored_slack(problem.features, C))


@pytest.mark.nightly
def test_max_margin_with_another_weight_of_the_cost_is_max_margin_in_other_units() -> None:
    """gamma cost + w . F'(y - z) = gamma (cost + w'. F'(y - z)) with w = gamma w', so that the
    objective is gamma times that of C' = gamma C.
    """
    gamma, ends = 3.0, []
    for weight, c in ((gamma, C), (1.0, gamma * C)):
        config = LearnerConfig(beta=math.inf, gamma=weight, c=c)
        eg = build("eg-online", random_problem(3), config, search="quadratic")
        ends.append(list(passes(eg, eg.initialise(), 400))[-1])
    weighted, plain = ends
    assert weighted.relative_gap < 1e-3
    assert weighted.dual <= gamma * plain.primal * (1 + 1e-6)
    assert gamma * plain.dual <= weighted.primal * (1 + 1e-6)


@pytest.mark.parametrize(
    ("loss", "member"), [("log-linear", (1.0, 0.0)), ("max-margin", (math.inf, 1.0))]
)
def test_the_general_step_is_that_of_the_losses_with_names(
    loss: str, member: tuple[float, float]
) -> None:
    """Losses next to those with a name take the general step, and nearly the same one."""
    states = []
    for own in (NAMED[loss], Loss(member[0] if member[0] == 1.0 else 1e12, member[1] + 1e-12)):
        eg = OnlineEG(random_problem(6), EGConfig.under(own, c=C))  # type: ignore[arg-type]
        states.append(eg.initialise())
        for _ in range(5):
            eg.iterate(states[-1])
    np.testing.assert_allclose(states[0].theta, states[1].theta, rtol=1e-4, atol=1e-5)


@pytest.mark.compiled_only
@pytest.mark.parametrize("name", EACH)
def test_softmax_margin_of_sentences(name: str) -> None:
    """Taggers and parsers: the gap closes, and L-BFGS finds no lower primal than the dual."""
    config = LearnerConfig(beta=1.0, gamma=1.0, c=20.0)
    eg = build("eg-online", SLICES[name](), config)
    for certificate in passes(eg, eg.initialise(), 150):
        if certificate.relative_gap < 1e-4:
            break
    assert certificate.relative_gap < 1e-4
    rival = build("lbfgs", SLICES[name](), config)
    last = list(passes(rival, rival.initialise(), 40))[-1]
    slack = 1 + rounding(100, eps=SINGLE)
    assert certificate.dual <= last.primal * slack
    assert last.dual <= certificate.primal * slack
