"""Laws of parses by context-free grammars, at lengths where nothing can be enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from egparse.experiments.grammars import chart, forest_inference
from egparse.experiments.grammars.forest import parse_forest
from egparse.experiments.grammars.rules import Rules, checked_rules

from egparse.types import Mask

CATALAN = checked_rules(1, [(0, 0, 0)], [])
"""S -> S S, S -> word: a parse is a binary tree."""


def ambiguous(n: int, symbols: int = 6) -> tuple[Rules, Mask]:
    """A random grammar with unary rules in which every word may have half of the symbols; there is
    a parse.
    """
    random = np.random.default_rng(n)
    binary = random.random((symbols, symbols, symbols)) < 0.4
    binary[[0, -1], 0, 0] = True
    unary = np.argwhere(np.tril(random.random((symbols, symbols)) < 0.5, -1))
    tags = random.random((n, symbols)) < 0.5
    tags[:, 0] = True
    return checked_rules(symbols, np.argwhere(binary), unary), tags


@pytest.mark.parametrize("n", [1, 2, 17, 40])
def test_zero_scores_count_the_binary_trees(n: int) -> None:
    expected = math.log(math.comb(2 * n - 2, n - 1) // n)  # the Catalan number of n - 1
    found = chart.expectations(CATALAN, [0.0], np.zeros((n, 1)))
    assert found.log_partition == pytest.approx(expected, rel=1e-12, abs=1e-12)
    forest = parse_forest(CATALAN, np.ones((n, 1)))
    assert forest.parts == n + math.comb(n + 1, 3)
    log_z, _ = forest_inference.marginals(forest, np.zeros(forest.parts))
    assert log_z == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("spread", [1.0, 50.0, 1e4])
def test_forest_and_chart_agree(spread: float) -> None:
    rules, tags = ambiguous(20)
    random = np.random.default_rng(0)
    scores = spread * random.normal(size=rules.rule_count - rules.symbols)
    words = np.where(tags, spread * random.normal(size=tags.shape), -np.inf)
    forest = parse_forest(rules, tags)
    place = np.repeat(forest.items[:, 0], np.diff(forest.part_starts))
    lexical = forest.rule >= len(scores)
    by_part = np.where(
        lexical,
        words[place, np.where(lexical, forest.rule - len(scores), 0)],
        scores[np.where(lexical, 0, forest.rule)],
    )
    found = chart.expectations(rules, scores, words)
    log_z, marginals = forest_inference.marginals(forest, by_part)
    assert log_z == pytest.approx(found.log_partition, rel=1e-12)
    counts = np.bincount(forest.rule, weights=marginals, minlength=rules.rule_count)
    # errors of the logarithms, of the size of log Z, are relative errors of probabilities
    near = 1e-14 * 400 * max(1.0, abs(log_z))
    np.testing.assert_allclose(counts, found.counts, rtol=near, atol=1e-12)
    best = chart.argmax(rules, scores, words).score
    assert forest_inference.argmax(forest, by_part).score == pytest.approx(best, rel=1e-12)
    assert best <= log_z * (1 + math.copysign(1e-12, log_z))


@pytest.mark.parametrize("n", [5, 25])
def test_a_parse_of_n_words_has_n_tags_and_one_rule_fewer(n: int) -> None:
    rules, tags = ambiguous(n)
    scores = np.random.default_rng(1).normal(size=rules.rule_count - rules.symbols)
    found = chart.expectations(rules, scores, np.where(tags, 0.0, -np.inf))
    np.testing.assert_allclose(found.tags.sum(axis=1), 1.0, atol=1e-9)
    assert found.counts[: len(rules.binary)].sum() == pytest.approx(n - 1)
    assert found.counts[len(scores) :].sum() == pytest.approx(n)


def test_the_gradient_of_log_z_is_the_expectation() -> None:
    rules, tags = ambiguous(12)
    forest = parse_forest(rules, tags)
    random = np.random.default_rng(2)
    scores, direction = random.normal(size=(2, forest.parts))
    _, marginals = forest_inference.marginals(forest, scores)
    step = 1e-5
    above, _ = forest_inference.marginals(forest, scores + step * direction)
    below, _ = forest_inference.marginals(forest, scores - step * direction)
    assert (above - below) / (2 * step) == pytest.approx(float(marginals @ direction), rel=1e-7)

    by_rule = random.normal(size=rules.rule_count - rules.symbols)
    words = np.where(tags, 0.0, -np.inf)
    direction = random.normal(size=len(by_rule))
    found = chart.expectations(rules, by_rule, words)
    above = chart.expectations(rules, by_rule + step * direction, words).log_partition
    below = chart.expectations(rules, by_rule - step * direction, words).log_partition
    assert (above - below) / (2 * step) == pytest.approx(
        float(found.counts[: len(by_rule)] @ direction), rel=1e-7
    )


def test_a_constant_on_the_words_adds_to_every_parse() -> None:
    rules, tags = ambiguous(15)
    scores = np.random.default_rng(3).normal(size=rules.rule_count - rules.symbols)
    words = np.where(tags, 0.0, -np.inf)
    plain, shifted = (chart.expectations(rules, scores, words + c) for c in (0.0, 700.0))
    assert shifted.log_partition - plain.log_partition == pytest.approx(15 * 700.0)
    np.testing.assert_allclose(shifted.counts, plain.counts, rtol=1e-9, atol=1e-20)


def test_the_best_parse_is_the_limit_of_the_distribution() -> None:
    rules, tags = ambiguous(12)
    forest = parse_forest(rules, tags)
    scores = np.random.default_rng(4).normal(size=forest.parts)
    best = forest_inference.argmax(forest, scores)
    ranked = [each.score for each in forest_inference.k_best(forest, scores, 2)]
    assert ranked[0] == pytest.approx(best.score)
    beta = 60.0 / (ranked[0] - ranked[1])
    log_z, marginals = forest_inference.marginals(forest, beta * scores)
    assert log_z / beta == pytest.approx(best.score, rel=1e-9)
    np.testing.assert_allclose(marginals, best.parts, atol=1e-9)


def test_many_best_parses_are_distinct_and_in_order() -> None:
    rules, tags = ambiguous(18)
    forest = parse_forest(rules, tags)
    scores = np.random.default_rng(5).normal(size=forest.parts)
    found = forest_inference.k_best(forest, scores, 100)
    assert len({each.parts.tobytes() for each in found}) == 100
    values = [each.score for each in found]
    assert values == sorted(values, reverse=True)
    for each in found:
        assert float(scores @ each.parts) == pytest.approx(each.score)
