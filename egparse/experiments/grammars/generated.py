"""A grammar drawn at random whose distribution is known, so that what is estimated from its trees
can be compared with the truth.

With e(A) the expected number of uses of the symbol A in a tree, the entropy of a tree is the sum of
e(A) times the entropy of the rules of A, and the divergence of an estimate likewise. e solves a
linear system (Grenander 1976; Chi 1999, "Statistical properties of probabilistic context-free
grammars").
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from egparse.experiments.grammars.binarisation import Symbol
from egparse.experiments.grammars.grammar import Grammar, grammar_of
from egparse.experiments.grammars.lexicon import Lexicon
from egparse.experiments.grammars.pcfg import Pcfg
from egparse.types import Floats

_TAGS, _PHRASES, _WORDS = 6, 6, 40
_WORDS_OF_A_TAG = 14
_LENGTH = 9.0  # the expected number of words of a tree


def random_pcfg(seed: int) -> Pcfg:
    """A grammar of 6 tags, 6 phrases and 40 words, most of which have several tags; trees have 9
    words in the mean.
    """
    random = np.random.default_rng(seed)
    tags = [Symbol("tag", (f"T{number}",)) for number in range(_TAGS)]
    phrases = [Symbol("phrase", (f"P{number}",)) for number in range(_PHRASES)]
    root = Symbol("root", ("ROOT",))
    weights: dict[tuple[Symbol, ...], tuple[float, bool]] = {(root, phrases[0]): (1.0, False)}
    for phrase in phrases:
        ends = {(phrase, *(tags[t] for t in random.integers(_TAGS, size=2))) for _ in range(2)}
        ends.add((phrase, tags[random.integers(_TAGS)]))
        grows: set[tuple[Symbol, ...]] = set()
        while len(grows) < 3:
            below = [phrases[random.integers(_PHRASES)], [*tags, *phrases][random.integers(12)]]
            grows.add((phrase, *(below if random.random() < 0.5 else reversed(below))))
        for rules, grow in ((sorted(ends), False), (sorted(grows), True)):
            for rule, weight in zip(rules, random.dirichlet(np.full(len(rules), 3.0)), strict=True):
                weights[rule] = float(weight), grow
    grammar = grammar_of([*tags, *phrases, root], Counter(dict.fromkeys(weights, 1)))
    types = {f"w{number}": number for number in range(_WORDS)}
    probabilities = np.zeros((_WORDS, _TAGS))
    for tag in range(_TAGS):
        words = random.choice(_WORDS, size=_WORDS_OF_A_TAG, replace=False)
        probabilities[words, tag] = random.dirichlet(np.full(_WORDS_OF_A_TAG, 2.0))
    low, high = 0.0, 1.0  # the probability that a phrase grows
    for _ in range(40):
        middle = (low + high) / 2
        length = _expected_words(_with_growth(grammar, weights, middle))
        low, high = (middle, high) if 0 < length < _LENGTH else (low, middle)
    lexicon = Lexicon(types, probabilities)
    return Pcfg(
        grammar,
        lexicon,
        _with_growth(grammar, weights, low).rule_scores,
        lexicon.log_probabilities(),
    )


def uses(pcfg: Pcfg) -> Floats:
    """The expected number of uses of each symbol in a tree, (N,)."""
    rules, n = pcfg.grammar.rules, len(pcfg.grammar.symbols)
    below, probabilities = np.zeros((n, n)), np.exp(pcfg.rule_scores)
    for rule, (parent, *children) in enumerate([*rules.binary.tolist(), *rules.unary.tolist()]):
        for child in children:
            below[parent, child] += probabilities[rule]
    # e = [root] + below' e
    found: Floats = np.linalg.solve(np.eye(n) - below.T, np.eye(n)[n - 1])
    return found


def entropy(pcfg: Pcfg) -> float:
    """The entropy of a tree with its words, in nats."""
    return -_expectation(pcfg, pcfg.rule_scores, pcfg.word_scores)


def divergence(truth: Pcfg, estimated: Pcfg) -> float:
    """KL(truth | estimated) of trees with their words, in nats; inf where the estimate lacks a rule
    or a word. Symbols, rules and types are matched by name.
    """
    own = {_rule_name(estimated.grammar, r): r for r in range(len(estimated.rule_scores))}
    numbers = [own.get(_rule_name(truth.grammar, r), -1) for r in range(len(truth.rule_scores))]
    rule_scores = np.where(
        np.array(numbers) >= 0, np.append(estimated.rule_scores, -np.inf)[numbers], -np.inf
    )
    word_scores = np.full_like(truth.word_scores, -np.inf)
    for tag, symbol in enumerate(truth.grammar.symbols[: truth.grammar.tags]):
        column = estimated.grammar.numbers.get(symbol)
        for name, number in truth.lexicon.types.items():
            if column is not None and name in estimated.lexicon.types:
                row = estimated.lexicon.types[name]
                word_scores[number, tag] = estimated.word_scores[row, column]
    return -entropy(truth) - _expectation(truth, rule_scores, word_scores)


def _expectation(pcfg: Pcfg, rule_scores: Floats, word_scores: Floats) -> float:
    """The expected sum of these scores over a tree."""
    found, rules = uses(pcfg), pcfg.grammar.rules
    parents = np.concatenate([rules.binary[:, 0], rules.unary[:, 0]])
    by_rule = found[parents] * np.exp(pcfg.rule_scores)
    by_word = found[: pcfg.grammar.tags] * np.exp(pcfg.word_scores)
    return float(_products(by_rule, rule_scores) + _products(by_word, word_scores))


def _products(weights: Floats, scores: Floats) -> float:
    """The sum of weights times scores, where a weight of 0 makes 0."""
    return float((weights[weights > 0] * scores[weights > 0]).sum())


def _rule_name(grammar: Grammar, rule: int) -> tuple[Symbol, ...]:
    binary = grammar.rules.binary
    row = binary[rule] if rule < len(binary) else grammar.rules.unary[rule - len(binary)]
    return tuple(grammar.symbols[number] for number in row)


def _expected_words(pcfg: Pcfg) -> float:
    """Less than 0 where trees may never end."""
    found = uses(pcfg)
    return float(found[: pcfg.grammar.tags].sum()) if (found >= 0).all() else -1.0


def _with_growth(
    grammar: Grammar, weights: dict[tuple[Symbol, ...], tuple[float, bool]], growth: float
) -> Pcfg:
    """The probabilities where each phrase grows with probability ``growth``."""
    scores = []
    for rule in range(len(grammar.counts)):
        name = _rule_name(grammar, rule)
        weight, grow = weights[name]
        share = 1.0 if name[0].kind == "root" else growth if grow else 1.0 - growth
        scores.append(np.log(max(weight * share, 1e-300)))
    empty = Lexicon({}, np.zeros((0, grammar.tags)))
    return Pcfg(grammar, empty, np.array(scores), np.zeros((0, grammar.tags)))
