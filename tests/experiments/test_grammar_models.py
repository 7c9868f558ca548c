"""Grammars of treebanks: probabilities by counting, EM, and a random grammar that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from egparse.experiments.grammars.binarisation import Binarisation, tree_of
from egparse.experiments.grammars.chart import expectations
from egparse.experiments.grammars.conversion import phrase_tree
from egparse.experiments.grammars.generated import divergence, entropy, random_pcfg, uses
from egparse.experiments.grammars.grammar import extract
from egparse.experiments.grammars.lexicon import learn_lexicon, signatures
from egparse.experiments.grammars.pcfg import Pcfg, em_step, sample_tree
from egparse.experiments.grammars.treebank import Model, learn_model
from egparse.experiments.grammars.trees import Tree
from oracles.parses import all_parses
from sample_treebank import sample

from egparse.errors import EgparseError

TREES = [phrase_tree(sentence) for sentence in sample("train") if len(sentence) <= 12]


def small() -> Model:
    return learn_model(TREES[:80], Binarisation())


def rule_masses(pcfg: Pcfg) -> np.ndarray:
    rules = pcfg.grammar.rules
    parents = np.concatenate([rules.binary[:, 0], rules.unary[:, 0]])
    return np.bincount(parents, weights=np.exp(pcfg.rule_scores), minlength=rules.symbols)


def test_probabilities_of_each_symbol_sum_to_one() -> None:
    pcfg = small().pcfg
    tags = pcfg.grammar.tags
    np.testing.assert_allclose(rule_masses(pcfg)[tags:], 1.0)
    assert not rule_masses(pcfg)[:tags].any()
    np.testing.assert_allclose(np.exp(pcfg.word_scores).sum(axis=0), 1.0)


def test_a_rule_has_its_relative_frequency() -> None:
    trees = [
        Tree("ROOT", (Tree("S", (Tree("A", (), "a"), Tree("B", (), "b"))),)),
        Tree("ROOT", (Tree("S", (Tree("A", (), "a"), Tree("A", (), "c"))),)),
        Tree("ROOT", (Tree("S", (Tree("A", (), "a"), Tree("A", (), "a"))),)),
    ]
    model = learn_model(trees, Binarisation(), 1)
    node = model.nodes[1]
    # p(S -> A A) = 2/3, p(a | A) = 4/5, p(c | A) = 1/5
    expected = math.log(2 / 3) + math.log(4 / 5) + math.log(1 / 5)
    assert model.pcfg.log_probability(node) == pytest.approx(expected)
    assert model.pcfg.parse(["a", "c"]) == trees[1]
    assert model.pcfg.parse(["b", "b"]) is None


def test_the_grammar_gives_a_tree_back() -> None:
    model = small()
    for tree, node in zip(TREES[:80], model.nodes, strict=True):
        parts = list(model.grammar.parts(node))
        assert model.grammar.tree(parts, tree.words()) == node
    with pytest.raises(EgparseError, match="expected rules of the grammar, got ROOT -> "):
        list(extract(model.nodes[:1]).parts(model.nodes[1]))
    with pytest.raises(EgparseError, match="expected trees to take a grammar from, got none"):
        extract([])


def test_the_probability_of_words_is_that_of_all_their_trees() -> None:
    model = small()
    pcfg, rules = model.pcfg, model.grammar.rules
    names = [*map(tuple, rules.binary.tolist()), *map(tuple, rules.unary.tolist())]
    words = next(tree.words() for tree in TREES[:80] if len(tree.words()) == 5)
    scores = pcfg.words(words)
    tags = [set(np.flatnonzero(row > -np.inf).tolist()) for row in scores]
    total = -math.inf
    for parse in all_parses(names, tags, rules.symbols - 1):
        own = sum(
            scores[i, rule[0]] if len(rule) == 1 else pcfg.rule_scores[names.index(rule)]
            for i, _, _, rule in parse
        )
        total = np.logaddexp(total, own)
    found = expectations(rules, pcfg.rule_scores, scores).log_partition
    assert found == pytest.approx(total, rel=1e-12)


def test_em_never_lowers_the_likelihood() -> None:
    pcfg = small().pcfg
    sentences = [tree.words() for tree in TREES[80:130]]
    values = []
    for _ in range(6):
        step = em_step(pcfg, sentences)
        values.append(step.log_likelihood)
        pcfg = step.pcfg
    assert values == sorted(values)
    assert values[-1] > values[0] + 1
    np.testing.assert_allclose(rule_masses(pcfg)[pcfg.grammar.tags :], 1.0)
    np.testing.assert_allclose(np.exp(pcfg.word_scores).sum(axis=0), 1.0)


def test_em_on_unambiguous_sentences_counts() -> None:
    trees = [Tree("ROOT", (Tree("S", (Tree("A", (), "a"), Tree("B", (), "b"))),))] * 3
    trees.append(Tree("ROOT", (Tree("S", (Tree("A", (), "c"), Tree("B", (), "b"))),)))
    pcfg = learn_model(trees, Binarisation(), 1).pcfg
    step = em_step(pcfg, [["a", "b"], ["c", "b"], ["b", "a"]])
    assert step.parsed == 2
    assert step.log_likelihood == pytest.approx(math.log(3 / 4) + math.log(1 / 4))
    after = em_step(step.pcfg, [["a", "b"]])
    assert after.log_likelihood == pytest.approx(math.log(1 / 2))


@pytest.mark.parametrize(
    ("word", "first", "expected"),
    [
        ("running", False, ["UNK.ing", "UNK.ng", "UNK.g", "UNK"]),
        ("Paris", False, ["UNK-capital.ris", "UNK-capital.is", "UNK-capital.s", "UNK-capital"]),
        ("Paris", True, ["UNK-first.ris", "UNK-first.is", "UNK-first.s", "UNK-first"]),
        ("NATO", False, ["UNK-all.ato", "UNK-all.to", "UNK-all.o", "UNK-all"]),
        ("1,000", False, ["UNK-digit"]),
        ("--", False, ["UNK-other-hyphen"]),
        ("a", False, ["UNK"]),
    ],
)
def test_signatures_go_from_fine_to_coarse(word: str, first: bool, expected: list[str]) -> None:
    found = signatures(word, first)
    assert found[: len(expected)] == expected
    assert found[-1] == "UNK"


def test_words_never_seen_have_the_tags_of_rare_words_that_look_alike() -> None:
    model = small()
    lexicon = model.lexicon
    tags = [symbol.labels[0] for symbol in model.grammar.symbols[: model.grammar.tags]]
    for words in (["Xyzzying", "xyzzying", "!?", "17"],):
        assert (lexicon.counts[lexicon.numbers(words)].sum(axis=1) > 0).all()
    again = learn_lexicon(TREES[:80], tags)
    np.testing.assert_array_equal(again.counts, lexicon.counts)
    with pytest.raises(EgparseError, match="expected trees to take words from, got none"):
        learn_lexicon([], tags)


def test_the_mean_of_drawn_trees_is_the_entropy() -> None:
    truth = random_pcfg(2)
    random = np.random.default_rng(5)
    trees = [sample_tree(truth, random) for _ in range(1500)]
    plain = Binarisation()
    values = np.array([truth.log_probability(plain.binarised(tree)) for tree in trees])
    error = values.std() / math.sqrt(len(values))
    assert -values.mean() == pytest.approx(entropy(truth), abs=5 * error)
    lengths = np.array([len(tree.words()) for tree in trees])
    expected = uses(truth)[: truth.grammar.tags].sum()
    assert expected == pytest.approx(9.0)
    assert lengths.mean() == pytest.approx(expected, abs=5 * lengths.std() / math.sqrt(len(trees)))


@pytest.mark.nightly
def test_estimates_approach_the_truth() -> None:
    truth = random_pcfg(2)
    assert divergence(truth, truth) == pytest.approx(0.0, abs=1e-9)
    random = np.random.default_rng(1)
    trees = [sample_tree(truth, random) for _ in range(4000)]
    few, many = (
        divergence(truth, learn_model(trees[:n], Binarisation(), 1).pcfg) for n in (1000, 4000)
    )
    assert 0 < many < few < 0.2
    empty = learn_model(trees[:3], Binarisation(), 1)
    assert divergence(truth, empty.pcfg) == math.inf


def test_parses_of_the_truth_are_trees_of_the_words() -> None:
    truth = random_pcfg(2)
    random = np.random.default_rng(3)
    tree = next(
        drawn
        for drawn in (sample_tree(truth, random) for _ in range(100))
        if 4 <= len(drawn.words()) <= 12
    )
    best = truth.parse(tree.words())
    assert best is not None
    assert best.words() == tree.words()
    plain = Binarisation()
    assert truth.log_probability(plain.binarised(best)) >= truth.log_probability(
        plain.binarised(tree)
    )
    assert tree_of(plain.binarised(best)) == best
