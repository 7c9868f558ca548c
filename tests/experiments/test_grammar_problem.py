"""Log-linear grammars as a training problem: its contract, its gradient, and what learners make of
it.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from egparse.experiments.grammars.binarisation import Binarisation
from egparse.experiments.grammars.conversion import phrase_tree
from egparse.experiments.grammars.features import Signatures
from egparse.experiments.grammars.held_out import HeldOut
from egparse.experiments.grammars.problem import Encoder, GrammarProblem
from egparse.experiments.grammars.treebank import Model, learn_model
from sample_treebank import sample

from egparse.errors import EgparseError
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.registry import build

TREES = [phrase_tree(sentence) for sentence in sample("train") if len(sentence) <= 9]
MARGIN = (math.inf, 1.0)


@cache
def model() -> Model:
    return learn_model(TREES[:40], Binarisation(vertical=2))


@cache
def encoder(anchored: bool = True) -> Encoder:
    own = model()
    shapes = Signatures([tree.words() for tree in TREES[:40]])
    return Encoder(own.grammar, own.lexicon, shapes, anchored=anchored)


def problem(anchored: bool = True) -> GrammarProblem:
    return GrammarProblem(encoder(anchored), model().nodes, 14)


def ambiguous(own: GrammarProblem) -> int:
    """The sentence with the most parts."""
    return int(np.argmax(np.diff(own.part_starts)))


def test_the_correct_parse_is_in_the_forest_and_costs_nothing() -> None:
    own = problem()
    for i in range(len(model().nodes)):
        gold = own.gold(i)
        parts = len(list(model().grammar.parts(model().nodes[i])))
        assert gold.sum() == parts
        assert own.cost(i) @ gold + own.cost_constant(i) == pytest.approx(0.0)
        best = np.empty_like(gold)
        assert own.argmax(i, 2 * gold - 1.0, best) == parts
        np.testing.assert_array_equal(best, gold)


def test_the_cost_is_half_the_number_of_different_constituents() -> None:
    own = problem()
    i = ambiguous(own)
    scores = np.random.default_rng(1).normal(size=len(own.gold(i)))
    forest = encoder().forest(TREES[i].words())
    items = np.repeat(np.arange(len(forest.items)), np.diff(forest.part_starts))
    correct = set(items[own.gold(i) > 0].tolist())
    for row in own.k_best(i, scores, 20):
        different = correct ^ set(items[row > 0].tolist())
        cost = float(own.cost(i) @ row) + own.cost_constant(i)
        assert cost == pytest.approx(len(different) / 2)
        assert different or (row == own.gold(i)).all()


def test_a_wrong_tag_costs_one() -> None:
    own, grammar = problem(), model().grammar
    first_word = len(grammar.rules.binary) + len(grammar.rules.unary)
    i = ambiguous(own)
    forest = encoder().forest(TREES[i].words())
    for row in own.k_best(i, np.zeros(forest.parts), 50):
        moved = np.flatnonzero((row > 0) != (own.gold(i) > 0))
        if len(moved) == 2 and (forest.rule[moved] >= first_word).all():
            assert own.cost(i) @ row + own.cost_constant(i) == pytest.approx(1.0)


def test_the_gradient_is_features_times_marginals() -> None:
    own = problem()
    own.weights[:] = np.random.default_rng(0).normal(size=own.weights.size) * 0.3
    i = ambiguous(own)
    scores = own.scores(i).copy()
    marginals = np.empty_like(scores)
    own.marginals(i, scores, marginals)
    gradient = own.with_own_weights()
    gradient.add(i, marginals)
    direction = np.random.default_rng(1).normal(size=own.weights.size).astype(np.float32)
    step = np.float32(0.01)
    values = []
    start = own.weights.copy()
    for sign in (1, -1):
        own.weights[:] = start + sign * step * direction
        values.append(own.marginals(i, own.scores(i), np.empty_like(scores)))
    # the weights are in single precision, and the third derivative is left out
    assert (values[0] - values[1]) / (2 * float(step)) == pytest.approx(
        float(gradient.weights.astype(np.float64) @ direction), rel=2e-3
    )


def test_adding_moves_the_scores_and_knows_the_norm() -> None:
    own = problem()
    random = np.random.default_rng(3)
    grown = 0.0
    for i in range(5):
        changes = random.normal(size=len(own.gold(i)))
        # v . F' changes = changes . F v
        before = own.scores(i).copy()
        probe = own.with_own_weights()
        probe.add(i, changes)
        expected = float(probe.weights.astype(np.float64) @ own.weights)
        assert float(changes @ before) == pytest.approx(expected, rel=1e-4, abs=1e-4)
        grown += own.add(i, changes)
    assert grown == pytest.approx(float(np.sum(own.weights.astype(np.float64) ** 2)), rel=1e-9)
    own.reset()
    assert not own.vectors()[0].any()


def trained(
    name: str, own: GrammarProblem, config: LearnerConfig, passes: int, **options: object
) -> list[Certificate]:
    own.reset()
    learner = build(name, own, config, **options)
    state = learner.initialise(3.0)
    found = []
    for _ in range(passes):
        learner.iterate(state)
        found.append(learner.certificate(state))
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("anchored", [True, False])
def test_log_linear_learners_find_the_same_optimum(anchored: bool) -> None:
    own = problem(anchored)
    config = LearnerConfig(c=5.0)
    eg = trained("eg-online", own, config, 60)
    lbfgs = trained("lbfgs", own, config, 60)
    for found in (eg, lbfgs):
        assert all(each.primal >= each.dual - 1e-6 * abs(each.dual) for each in found)
        assert found[-1].primal - found[-1].dual <= 1e-3 * found[-1].dual
    assert eg[-1].primal == pytest.approx(lbfgs[-1].primal, rel=2e-3)
    assert trained("sgd", own, config, 60, eta0=0.3)[-1].primal == pytest.approx(
        eg[-1].primal, rel=0.05
    )


def test_max_margin_learners_find_the_same_optimum() -> None:
    own = problem()
    config = LearnerConfig(beta=MARGIN[0], gamma=MARGIN[1], c=5.0)
    eg = trained("eg-online", own, config, 150)
    wolfe = trained("frank-wolfe", own, config, 150)
    bounds = [max(each.dual for each in found) for found in (eg, wolfe)]
    assert all(each.primal >= max(bounds) * (1 - 1e-6) for each in (*eg, *wolfe))
    for found in (eg, wolfe):
        assert min(each.primal for each in found) <= 1.03 * max(bounds)


@pytest.mark.parametrize(
    ("name", "beta", "gamma"),
    [("perceptron", math.inf, 0.0), ("mira", math.inf, 1.0), ("dca", 1.0, 1.0)],
)
def test_other_learners_fit_the_training_trees(name: str, beta: float, gamma: float) -> None:
    own = problem()
    held = HeldOut(encoder(), TREES[:40])
    own.reset()
    options = {"k": 3} if name == "mira" else {}
    learner = build(name, own, LearnerConfig(beta=beta, gamma=gamma, c=1.0), **options)
    state = learner.initialise(3.0)
    for _ in range(8):
        learner.iterate(state)
    with learner.model_weights(state):
        assert held.rate(held.by_weights(own.weights)).f1 > 90


def test_probabilities_over_the_forest_are_those_of_the_chart() -> None:
    held = HeldOut(encoder(), TREES[40:70])
    scores = held.by_probability(model().pcfg)
    for i, tree in enumerate(held.trees):
        best = model().pcfg.parse(tree.words())
        if best is not None:
            binarise = Binarisation(vertical=2).binarised
            own = model().pcfg.log_probability(binarise(held.parse(i, scores)))
            assert own == pytest.approx(model().pcfg.log_probability(binarise(best)))
    outcomes = held.outcomes(scores).sum(axis=0)
    rated = held.rate(scores)
    assert tuple(outcomes) == (rated.common, rated.correct, rated.found)


def test_the_best_of_more_trees_is_no_worse() -> None:
    held = HeldOut(encoder(), TREES[40:70])
    scores = held.by_probability(model().pcfg)
    found = held.oracle(scores, (1, 2, 5, 10), 30)
    assert found[0] == pytest.approx(held.rate(scores).f1)
    assert found[-1] > found[0]
    assert held.likelihood(scores, Binarisation(vertical=2)).mean < 0


def test_a_tree_with_unknown_rules_is_refused() -> None:
    with pytest.raises(EgparseError, match="expected rules of the grammar, got "):
        GrammarProblem(encoder(), [Binarisation(vertical=2).binarised(tree) for tree in TREES], 14)
