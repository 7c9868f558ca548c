"""Charts and forests of context-free grammars against enumerated parses."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from egparse.experiments.grammars import chart, forest_inference
from egparse.experiments.grammars.forest import Forest, parse_forest
from egparse.experiments.grammars.rules import Rules, checked_rules
from hypothesis import given
from hypothesis import strategies as st
from oracles.parses import Part, all_parses, parse_facts, parse_score
from properties import examples
from tolerances import DOUBLE, score_rounding

from egparse.types import Floats, Mask

EXAMPLES = examples(150)
SYMBOLS = 4


class Sentence(NamedTuple):
    """A grammar, and the tags that the words may have, (n, N)."""

    rules: Rules
    tags: Mask


@st.composite
def sentences(draw: st.DrawFn, max_words: int = 4) -> Sentence:
    """Grammars of four symbols, from empty to dense, and one to four words."""
    symbols = range(SYMBOLS)
    binary = list(itertools.product(symbols, repeat=3))
    unary = [(a, b) for a, b in itertools.product(symbols, repeat=2) if b < a]
    share = draw(st.sampled_from([0.1, 0.2, 0.35]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_words))
    tags = random.random((n, SYMBOLS)) < 0.6
    return Sentence(
        checked_rules(
            SYMBOLS,
            [rule for rule in binary if random.random() < share],
            [rule for rule in unary if random.random() < 2 * share],
        ),
        tags,
    )


def rule_names(rules: Rules) -> list[tuple[int, ...]]:
    """The rules by number, as the oracle writes them."""
    return [
        *(tuple(rule) for rule in rules.binary.tolist()),
        *(tuple(rule) for rule in rules.unary.tolist()),
        *((a,) for a in range(rules.symbols)),
    ]


def parts_of(rules: Rules, forest: Forest) -> list[Part]:
    """The parts of a forest, as the oracle writes them."""
    names, parts = rule_names(rules), []
    for t, (start, end, _) in enumerate(forest.items.tolist()):
        for r in range(forest.part_starts[t], forest.part_starts[t + 1]):
            name = names[forest.rule[r]]
            split = int(forest.items[forest.left[r], 1]) if len(name) == 3 else -1
            parts.append((start, split, end, name))
    return parts


def parses_of(sentence: Sentence) -> list[tuple[Part, ...]]:
    rules = [name for name in rule_names(sentence.rules) if len(name) > 1]
    tags = [set(np.flatnonzero(row).tolist()) for row in sentence.tags]
    return list(all_parses(rules, tags, SYMBOLS - 1))


def draw_scores(size: int, seed: int, kind: str) -> Floats:
    """Scores with ties, of hundreds of nats, or partly forbidden."""
    random = np.random.default_rng(seed)
    if kind == "ties":
        return random.integers(-1, 2, size=size).astype(np.float64)
    scores = random.normal(size=size) * (300.0 if kind == "wide" else 1.0)
    if kind == "forbidden":
        scores[random.random(size) < 0.3] = -np.inf
    return scores


kinds = st.sampled_from(["plain", "ties", "wide", "forbidden"])
seeds = st.integers(0, 10**6)


@EXAMPLES
@given(sentence=sentences())
def test_the_forest_holds_the_parts_of_all_parses(sentence: Sentence) -> None:
    forest = parse_forest(*sentence)
    parts = parts_of(sentence.rules, forest)
    assert len(set(parts)) == len(parts)
    assert set(parts) == {part for parse in parses_of(sentence) for part in parse}
    below = np.repeat(np.arange(len(forest.items)), np.diff(forest.part_starts))
    for children in (forest.left, forest.right):
        assert ((children < below) | (children == len(forest.items))).all()


@EXAMPLES
@given(sentence=sentences(), seed=seeds, kind=kinds, k=st.integers(1, 9))
def test_a_forest_agrees_with_enumeration(sentence: Sentence, seed: int, kind: str, k: int) -> None:
    forest = parse_forest(*sentence)
    parts = parts_of(sentence.rules, forest)
    scores = draw_scores(len(parts), seed, kind)
    by_part = dict(zip(parts, scores.tolist(), strict=True))
    parses = parses_of(sentence)
    facts = parse_facts(parses, by_part.__getitem__)
    near = score_rounding(scores, 12, 12 * max(1, len(parts)))

    log_z, marginals = forest_inference.marginals(forest, scores)
    assert log_z == facts.log_partition or log_z == pytest.approx(facts.log_partition, abs=near)
    expected = [facts.marginals.get(part, 0.0) for part in parts]
    np.testing.assert_allclose(marginals, expected, rtol=3 * near, atol=DOUBLE)

    best = forest_inference.argmax(forest, scores)
    found = forest_inference.k_best(forest, scores, k)
    assert [each.score for each in found] == pytest.approx(facts.ranked[:k], abs=near)
    assert len({each.parts.tobytes() for each in found}) == len(found)
    as_sets = {frozenset(parse) for parse in parses}
    for each in [best, *found] if facts.ranked else []:
        chosen = tuple(part for part, on in zip(parts, each.parts, strict=True) if on)
        assert frozenset(chosen) in as_sets
        assert parse_score(chosen, by_part.__getitem__) == pytest.approx(each.score, abs=near)
    assert best.score == (pytest.approx(facts.ranked[0], abs=near) if facts.ranked else -math.inf)
    assert bool(best.parts.any()) == bool(facts.ranked)


@EXAMPLES
@given(sentence=sentences(), seed=seeds, kind=kinds)
def test_a_chart_agrees_with_enumeration(sentence: Sentence, seed: int, kind: str) -> None:
    rules, tags = sentence
    names = rule_names(rules)
    scores = draw_scores(len(names) - SYMBOLS, seed, kind)
    words = np.where(tags, draw_scores(tags.size, seed + 1, "plain").reshape(tags.shape), -np.inf)

    def score(part: Part) -> float:
        start, _, _, rule = part
        return float(words[start, rule[0]] if len(rule) == 1 else scores[names.index(rule)])

    facts = parse_facts(parses_of(sentence), score)
    found = chart.expectations(rules, scores, words)
    near = score_rounding(scores, 12, 12 * 64)
    assert found.log_partition == facts.log_partition or found.log_partition == pytest.approx(
        facts.log_partition, abs=near
    )
    counts, by_word = np.zeros(len(names)), np.zeros(tags.shape)
    for part, probability in facts.marginals.items():
        counts[names.index(part[3])] += probability
        if len(part[3]) == 1:
            by_word[part[0], part[3][0]] += probability
    np.testing.assert_allclose(found.counts, counts, rtol=3 * near, atol=1e-24)
    np.testing.assert_allclose(found.tags, by_word, rtol=3 * near, atol=1e-24)

    best = chart.argmax(rules, scores, words)
    if not facts.ranked:
        assert best.score == -math.inf
        assert len(best.parts) == 0
        return
    assert best.score == pytest.approx(facts.ranked[0], abs=near)
    parse = [(i, k, j, names[rule]) for i, k, j, rule in best.parts.tolist()]
    assert tuple(parse) in parses_of(sentence)
    assert parse_score(tuple(parse), score) == pytest.approx(best.score, abs=near)


def test_a_cycle_of_unary_rules_cannot_be_numbered() -> None:
    with pytest.raises(ValueError, match="unary rule 1 -> 2: expected a child numbered below"):
        checked_rules(3, [], [(2, 1), (1, 2)])


@pytest.mark.parametrize(
    ("binary", "unary", "message"),
    [
        ([(0, 1, 3)], [], "expected symbols from 0 to 2, at least one, got 0 to 3"),
        ([], [(-1, 0)], "expected symbols from 0 to 2, at least one, got -1 to 0"),
        ([(0, 1, 2), (0, 1, 2)], [], "expected each rule once, got one twice"),
    ],
)
def test_faulty_rules_are_refused(
    binary: list[tuple[int, ...]], unary: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        checked_rules(3, binary, unary)


def test_faulty_scores_are_refused() -> None:
    rules = checked_rules(2, [(1, 0, 0)], [(1, 0)])
    with pytest.raises(ValueError, match=r"rule scores: expected shape \(2,\), got \(3,\)"):
        chart.argmax(rules, np.zeros(3), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"word scores: expected shape \(n, 2\) with n > 0"):
        chart.argmax(rules, np.zeros(2), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="expected finite numbers or -inf, got nan"):
        chart.expectations(rules, [0.0, math.nan], np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"tags: expected shape \(n, 2\) with n > 0, got \(2, 3\)"):
        parse_forest(rules, np.ones((2, 3)))
    forest = parse_forest(rules, np.ones((2, 2)))
    with pytest.raises(ValueError, match="part scores: expected shape"):
        forest_inference.argmax(forest, np.zeros(forest.parts + 1))
    with pytest.raises(ValueError, match="expected finite numbers or -inf, got nan"):
        forest_inference.marginals(forest, np.full(forest.parts, math.inf))
    with pytest.raises(ValueError, match="k best parses: expected k >= 1, got 0"):
        forest_inference.k_best(forest, np.zeros(forest.parts), 0)
