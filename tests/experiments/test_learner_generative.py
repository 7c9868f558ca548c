"""Generative baselines against counts by hand and enumeration."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from egparse.learners.generative import HMM, HMMConfig, suffix_classes, train_hmm, train_naive_bayes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError, EgparseError

WORDS = [0, 1, 0, 2, 0, 1]
TAGS = [0, 1, 0, 1, 0, 0]
STARTS = [0, 2, 4, 6]
PLAIN = HMMConfig(transition_smoothing=0.0, emission_smoothing=0.0, rare=0)


def drawn_hmm(seed: int, config: HMMConfig) -> tuple[HMM, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    words, tags = random.integers(0, 5, size=20), random.integers(0, 3, size=20)
    starts = np.array([0, 3, 3, 8, 14, 20])
    return train_hmm(words, tags, starts, tag_count=3, config=config), words, starts


def test_counts_by_hand() -> None:
    model = train_hmm(WORDS, TAGS, STARTS, config=PLAIN)
    assert np.exp(model.start) == pytest.approx([1.0, 0.0])
    assert np.exp(model.transitions) == pytest.approx(np.array([[1 / 4, 2 / 4], [0.0, 0.0]]))
    assert np.exp(model.end) == pytest.approx([1 / 4, 1.0])
    assert np.exp(model.emissions) == pytest.approx(
        np.array([[3 / 4, 1 / 4, 0, 0], [0, 1 / 2, 1 / 2, 0]])
    )


def test_smoothed_counts_by_hand() -> None:
    config = HMMConfig(transition_smoothing=0.5, emission_smoothing=1.0, rare=0)
    model = train_hmm(WORDS, TAGS, STARTS, config=config)
    assert np.exp(model.start) == pytest.approx([3.5 / 4, 0.5 / 4])
    assert np.exp(model.transitions[0]) == pytest.approx([1.5 / 5.5, 2.5 / 5.5])
    assert np.exp(model.emissions[1]) == pytest.approx(
        [1 / 6, 2 / 6, 2 / 6, 1 / 6]
    )  # three words and the unknown one


def test_rare_words_stand_for_unknown_ones() -> None:
    model = train_hmm(WORDS, TAGS, STARTS, config=HMMConfig(emission_smoothing=0.0, rare=1))
    assert model.symbols([0, 1, 2, -1, 99]).tolist() == [0, 1, 2, 2, 2]
    assert np.exp(model.emissions) == pytest.approx(
        np.array([[3 / 4, 1 / 4, 0], [0, 1 / 2, 1 / 2]])
    )
    assert model.predict([0, -1], [0, 2]).tolist() == [0, 1]


def test_rare_words_with_suffixes() -> None:
    forms = ["aing", "bing", "ced", "ded", "x", "the", "the"]
    numbers: dict[str, int] = {}
    classes = suffix_classes(forms, 3, numbers, grow=True)
    words = np.array([0, 1, 2, 3, 4, 5, 5])
    tags = [0, 0, 1, 1, 1, 2, 2]
    config = HMMConfig(rare=1, class_minimum=2)
    model = train_hmm(words, tags, [0, 7], classes=classes, config=config)
    assert model.word_symbols.count == 1 + 5 + 1  # the; ing, ng, g, ed, d; all others
    fresh = suffix_classes(["zing", "zed", "bang", "xyz"], 3, numbers, grow=False)
    symbols = model.symbols([-1, -1, -1, -1], fresh)
    assert symbols.tolist()[:2] == model.symbols([-1, -1], classes[[0, 2]]).tolist()
    assert len(set(symbols.tolist())) == 4
    assert symbols[2] == model.word_symbols.of_class[numbers["ng"]]  # "ang" is new
    assert symbols[3] == model.word_symbols.rare
    assert model.emissions[:, symbols[:2]].argmax(axis=0).tolist() == [0, 1]


def test_suffixes_of_short_words_are_none() -> None:
    numbers: dict[str, int] = {}
    assert suffix_classes(["ab", "b"], 2, numbers, grow=True).tolist() == [[0, 1], [-1, 1]]
    assert suffix_classes(["cb"], 2, numbers, grow=False).tolist() == [[-1, 1]]


@given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0]), st.integers(0, 4))
def test_every_distribution_sums_to_1(seed: int, smoothing: float, rare: int) -> None:
    model, _, _ = drawn_hmm(
        seed, HMMConfig(transition_smoothing=smoothing, emission_smoothing=smoothing, rare=rare)
    )
    assert np.exp(model.start).sum() == pytest.approx(1.0)
    assert np.exp(model.transitions).sum(axis=1) + np.exp(model.end) == pytest.approx(np.ones(3))
    assert np.exp(model.emissions).sum(axis=1) == pytest.approx(np.ones(3))


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_viterbi_finds_the_best_of_all_sequences(seed: int, n: int) -> None:
    model, _, _ = drawn_hmm(seed, HMMConfig())
    words = np.random.default_rng(seed + 1).integers(-1, 5, size=n)
    best = max(model.log_joint(words, tags, [0, n]) for tags in product(range(3), repeat=n))
    found = model.predict(words, [0, n])
    assert model.log_joint(words, found, [0, n]) == pytest.approx(best, rel=1e-12)


def test_sentences_are_independent_and_may_be_empty() -> None:
    model, words, starts = drawn_hmm(7, HMMConfig())
    together = model.predict(words, starts)
    apart = [model.predict(words[a:b], [0, b - a]) for a, b in pairwise(starts)]
    assert together.tolist() == np.concatenate(apart).tolist()
    total = sum(model.log_joint(words[a:b], together[a:b], [0, b - a]) for a, b in pairwise(starts))
    assert model.log_joint(words, together, starts) == pytest.approx(total)


def test_counting_maximises_the_likelihood() -> None:
    """No other distribution of the same form gives the training data a higher joint probability
    than the relative frequencies.
    """
    model = train_hmm(WORDS, TAGS, STARTS, config=PLAIN)
    best = model.log_joint(WORDS, TAGS, STARTS)
    # c log c sums by hand: starts 3 of 3; from tag 0: 1, 2 and 1 of 4; from tag 1: 2 of 2; words 3
    # and 1 of 4, 1 and 1 of 2
    assert best == pytest.approx(
        2 * math.log(1 / 4)
        + 2 * math.log(2 / 4)
        + 3 * math.log(3 / 4)
        + math.log(1 / 4)
        + 2 * math.log(1 / 2)
    )
    for smoothing in (0.01, 0.1, 1.0):
        config = HMMConfig(transition_smoothing=smoothing, emission_smoothing=smoothing, rare=0)
        assert train_hmm(WORDS, TAGS, STARTS, config=config).log_joint(WORDS, TAGS, STARTS) < best


def test_impossible_sentences_are_named() -> None:
    model = train_hmm(WORDS, TAGS, STARTS, config=PLAIN)
    with pytest.raises(
        EgparseError, match="sentence 1: expected a tag sequence of positive probability"
    ):
        model.predict([0, 1, 2], [0, 2, 3])


def test_hmm_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EgparseError, match="as many words as tags"):
        train_hmm([0, 1], [0], [0, 2])
    with pytest.raises(EgparseError, match=r"expected tags in 0\.\.0"):
        train_hmm([0, 1], [0, 1], [0, 2], tag_count=1)
    with pytest.raises(EgparseError, match="expected sentence starts from 0 up to 2"):
        train_hmm([0, 1], [0, 1], [0, 1])
    with pytest.raises(EgparseError, match="expected word numbers of at least 0"):
        train_hmm([0, -1], [0, 1], [0, 2])
    with pytest.raises(EgparseError, match="expected classes of 2 words"):
        train_hmm([0, 1], [0, 1], [0, 2], classes=[[0]])
    with pytest.raises(ConfigError, match="expected no negative settings"):
        HMMConfig(rare=-1)


DOCUMENTS = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
LABELS = [0, 0, 1]


def test_the_multinomial_model_by_hand() -> None:
    model = train_naive_bayes(csr_matrix(DOCUMENTS), LABELS, smoothing=1.0)
    assert np.exp(model.bias) == pytest.approx([3 / 5, 2 / 5])
    assert np.exp(model.weights.T) == pytest.approx(
        np.array([[3 / 7, 3 / 7, 1 / 7], [1 / 6, 1 / 6, 4 / 6]])
    )
    fresh = csr_matrix(np.array([[1.0, 0.0, 2.0]]))
    expected = [math.log(3 / 5 * 3 / 7 * 1 / 49), math.log(2 / 5 * 1 / 6 * 16 / 36)]
    assert model.log_joint(fresh)[0] == pytest.approx(expected)
    assert model.predict(fresh).tolist() == [1]


def test_the_bernoulli_model_by_hand() -> None:
    model = train_naive_bayes(csr_matrix(DOCUMENTS), LABELS, events="bernoulli", smoothing=0.5)
    fresh = csr_matrix(np.array([[5.0, 0.0, 0.0]]))
    expected = [
        math.log(2.5 / 4 * 1.5 / 3 * 0.5 / 3 * 2.5 / 3),
        math.log(1.5 / 4 * 0.5 / 2 * 1.5 / 2 * 0.5 / 2),
    ]
    assert model.log_joint(fresh)[0] == pytest.approx(expected)
    assert model.predict(fresh).tolist() == [0]


def test_the_bernoulli_model_is_a_distribution_over_all_contexts() -> None:
    model = train_naive_bayes(csr_matrix(DOCUMENTS), LABELS, events="bernoulli", label_count=3)
    contexts = csr_matrix(np.array(list(product([0.0, 1.0], repeat=3))))
    assert np.exp(model.log_joint(contexts)).sum() == pytest.approx(1.0)


@given(st.integers(0, 10_000))
def test_the_multinomial_model_is_a_distribution_over_single_attributes(seed: int) -> None:
    random = np.random.default_rng(seed)
    dense = random.integers(0, 3, size=(8, 5)).astype(float)
    model = train_naive_bayes(
        csr_matrix(dense), random.integers(0, 3, size=8), label_count=3, smoothing=0.3
    )
    assert np.exp(model.log_joint(csr_matrix(np.eye(5)))).sum() == pytest.approx(1.0)


def test_naive_bayes_refuses_what_does_not_fit() -> None:
    matrix = csr_matrix(DOCUMENTS)
    with pytest.raises(ConfigError, match="expected multinomial or bernoulli"):
        train_naive_bayes(matrix, LABELS, events="poisson")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="smoothing > 0"):
        train_naive_bayes(matrix, LABELS, smoothing=0.0)
    with pytest.raises(EgparseError, match=r"expected 3 labels in 0\.\.0"):
        train_naive_bayes(matrix, LABELS, label_count=1)
    with pytest.raises(EgparseError, match="finite attribute values of at least 0"):
        train_naive_bayes(-matrix, LABELS)
    with pytest.raises(ConfigError, match="expected 3 attributes, got 2"):
        train_naive_bayes(matrix, LABELS).predict(csr_matrix((1, 2)))
