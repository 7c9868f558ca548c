"""Comparison of two systems: enumeration of all swaps, laws, coverage, and two reports."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from evaluation.corpora import corrupt, resegment, treebank
from hypothesis import given
from hypothesis import strategies as st

from egparse.errors import EgparseError
from egparse.evaluation import significance
from egparse.evaluation.report import evaluate
from egparse.evaluation.significance import (
    PairedDifference,
    compare_reports,
    comparison_as_json,
    paired_differences,
)
from egparse.sentences import Sentence
from egparse.types import Floats, Longs


def f1(counts: Longs) -> float:
    correct, gold, system = counts.sum(axis=0).tolist()
    return 200.0 * correct / (gold + system) if gold + system else 0.0


def exact_p_value(first: Longs, second: Longs) -> float:
    """The share of all 2^n exchanges of sentences with a difference at least as large."""
    observed = abs(f1(first) - f1(second))
    extreme = 0
    for exchanged in product([False, True], repeat=len(first)):
        rows = np.array(exchanged)[:, None]
        difference = f1(np.where(rows, second, first)) - f1(np.where(rows, first, second))
        extreme += abs(difference) >= observed - 1e-9
    return extreme / 2 ** len(first)


def all_swaps(rng: np.random.Generator, swaps: int, sentences: int) -> Floats:
    """Each of the 2^n exchanges once, in place of random ones."""
    assert swaps == 2**sentences
    return np.array(list(product([0.0, 1.0], repeat=sentences)))


def random_counts(rng: np.random.Generator, sentences: int, rate: float = 0.8) -> Longs:
    """An F1 metric: gold and system differ in how many items they have."""
    correct = rng.binomial(rng.poisson(4.0, size=sentences), rate)
    missed, spurious = rng.poisson(0.8, size=(2, sentences))
    return np.stack([correct, correct + missed, correct + spurious], axis=1)


def compare(first: Longs, second: Longs, resamples: int = 1000, seed: int = 0) -> PairedDifference:
    """The comparison in one metric."""
    found = paired_differences({"m": first}, {"m": second}, resamples=resamples, seed=seed)
    return found["m"]


ROWS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))
TABLES = st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=6)


@given(TABLES)
def test_with_all_swaps_the_p_value_is_exact(
    drawn: list[tuple[tuple[int, int, int], tuple[int, int, int]]],
) -> None:
    table = np.array(drawn)
    table[:, :, 1:] += table[:, :, :1]  # no more correct items than gold and system ones
    first, second = table[:, 0], table[:, 1]
    swaps = 2 ** len(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(significance, "coin_weights", all_swaps)
        found = compare(first, second, resamples=swaps)
    assert found.p_value is not None
    assert found.p_value * (swaps + 1) - 1 == pytest.approx(exact_p_value(first, second) * swaps)


def test_random_swaps_come_near_all_swaps() -> None:
    rng = np.random.default_rng(1)
    first, second = random_counts(rng, 9, rate=0.9), random_counts(rng, 9, rate=0.6)
    exact = exact_p_value(first, second)
    assert 0.01 < exact < 0.9
    # four standard deviations of a share among 20,000 draws are at most 4 * 0.5 / sqrt(20,000)
    assert compare(first, second, resamples=20_000).p_value == pytest.approx(exact, abs=0.0142)


@given(st.integers(0, 10_000))
def test_exchanging_the_systems_turns_the_sign_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_counts(rng, 12), random_counts(rng, 12, rate=0.7)
    there, back = compare(first, second, 200, seed), compare(second, first, 200, seed)
    assert (there.first, there.second) == (back.second, back.first)
    assert there.difference == -back.difference
    assert there.p_value == back.p_value
    assert there.interval is not None
    assert back.interval == pytest.approx((-there.interval.high, -there.interval.low))


def test_equal_systems_do_not_differ() -> None:
    counts = random_counts(np.random.default_rng(2), 40)
    assert compare(counts, counts) == (f1(counts), f1(counts), 0.0, (0.0, 0.0), 1.0)


def test_systems_that_swap_two_sentences_do_not_differ() -> None:
    first = np.array([[3, 4, 4], [1, 4, 4]])
    found = compare(first, first[::-1])
    assert (found.difference, found.p_value) == (0.0, 1.0)


def test_an_interval_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    first, second = random_counts(rng, 30), random_counts(rng, 30)
    draws = np.random.default_rng(7)
    differences = []
    for _ in range(200):
        drawn = draws.integers(0, 30, size=30)  # the same sentences for both systems
        differences.append(f1(first[drawn]) - f1(second[drawn]))
    expected = tuple(np.percentile(differences, [2.5, 97.5]))
    assert compare(first, second, 200, seed=7).interval == pytest.approx(expected)


def test_with_equal_lengths_an_interval_has_the_width_of_a_mean() -> None:
    """The difference is then a mean of n differences d, of deviation sd(d) / sqrt(n)."""
    rng = np.random.default_rng(4)
    words, n = 20, 2000
    tables = [
        np.stack([rng.binomial(words, 0.8, n), np.full(n, words), np.full(n, words)], axis=1)
        for _ in range(2)
    ]
    found = compare(*tables, resamples=4000)
    d = 100.0 * (tables[0][:, 0] - tables[1][:, 0]) / words
    half = 1.96 * d.std() / np.sqrt(n)
    assert found.difference == pytest.approx(d.mean())
    # a 2.5 % quantile of 4,000 normal draws has a standard error of about 4 % of sd(d) / sqrt(n)
    expected = (d.mean() - half, d.mean() + half)
    assert found.interval == pytest.approx(expected, abs=4 * 0.042 * half / 1.96)


def test_four_times_the_corpus_gives_half_the_width() -> None:
    rng = np.random.default_rng(5)
    first, second = random_counts(rng, 400), random_counts(rng, 400)
    once = compare(first, second, 4000).interval
    four_times = compare(np.tile(first, (4, 1)), np.tile(second, (4, 1)), 4000).interval
    assert once is not None
    assert four_times is not None
    assert four_times.half_width == pytest.approx(once.half_width / 2, rel=0.06)


def test_p_values_are_about_uniform_without_a_difference_and_small_with_one() -> None:
    rng = np.random.default_rng(8)
    p_values = []
    for k in range(200):
        first, second = random_counts(rng, 100), random_counts(rng, 100)
        p_values.append(compare(first, second, 200, seed=k).p_value)
    # 0.1 and four standard deviations, sqrt(0.1 * 0.9 / 200) = 0.021
    assert 0.015 <= np.mean(np.array(p_values) <= 0.1) <= 0.185
    worse = first - np.array([1, 0, 0]) * (first[:, :1] > 1)
    found = compare(first, worse, 500)
    assert found.difference > 0
    assert found.p_value == pytest.approx(1 / 501)


def test_intervals_cover_no_difference_about_as_often_as_promised() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for k in range(300):
        interval = compare(random_counts(rng, 150), random_counts(rng, 150), 300, seed=k).interval
        assert interval is not None
        covered += interval.low <= 0.0 <= interval.high
    # 0.95 and three standard errors, with the slight undercoverage of percentiles
    assert 0.91 <= covered / 300 <= 0.985


def test_all_metrics_share_the_draws() -> None:
    rng = np.random.default_rng(10)
    first = {name: random_counts(rng, 50) for name in "ab"}
    second = {name: random_counts(rng, 50) for name in "ab"}
    together = paired_differences(first, second, seed=3)
    assert list(together) == ["a", "b"]
    for name in "ab":
        assert together[name] == compare(first[name], second[name], seed=3)
    assert together != paired_differences(first, second, seed=4)


def test_without_resamples_there_are_scores_only() -> None:
    first, second = np.array([[3, 4, 4]]), np.array([[2, 4, 4]])
    found = compare(first, second, resamples=0)
    assert found == (75.0, 50.0, 25.0, None, None)
    assert comparison_as_json({"m": found}) == {
        "m": {"score": 75.0, "against": 50.0, "difference": 25.0, "interval": None, "p": None}
    }


def test_two_reports_are_compared_in_what_both_have() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:100]
    first = evaluate(gold, corrupt(gold, seed=1), bootstrap=200)
    second = evaluate(gold, corrupt(gold, seed=2, rate=0.3), bootstrap=0, layers={"upos", "spans"})
    found = compare_reports(first, second, resamples=200)
    assert list(found) == ["UPOS", "NE"]
    for name, own in found.items():
        assert (own.first, own.second) == (first[name], second[name])
        assert own.interval is not None
        assert own.interval.low < own.difference < own.interval.high
        assert own.p_value == pytest.approx(1 / 201)
    tags = evaluate(gold, gold, bootstrap=0, layers={"xpos"})
    with pytest.raises(EgparseError, match="a common metric, got UPOS, NE and XPOS"):
        compare_reports(second, tags)


def test_segmentation_is_compared_where_the_words_differ() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:60]
    reports = [evaluate(gold, resegment(gold, seed=k), bootstrap=0) for k in (1, 2)]
    found = compare_reports(*reports, resamples=50)
    assert list(found)[:4] == ["Tokens", "Sentences", "Words", "UPOS"]
    assert found["Words"].first == reports[0]["Words"]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda a: paired_differences({"m": a}, {"n": a}), r"the same metrics, got \['m'\] and"),
        (lambda a: compare(a, a[:3]), r"expected tables of one shape \(sentences, 3\), got"),
        (lambda a: compare(a, a, resamples=-1), "expected at least one resample, got -1"),
    ],
)
def test_mistakes_are_named(action: Callable[[Longs], object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        action(random_counts(np.random.default_rng(11), 5))


def test_other_gold_corpora_are_refused() -> None:
    sentence = Sentence(forms=["a"], upos=["X"])
    one, two = (evaluate([sentence] * n, [sentence] * n, bootstrap=0) for n in (1, 2))
    with pytest.raises(ValueError, match="expected tables of one shape"):
        compare_reports(one, two)


def test_nothing_to_compare_is_nothing() -> None:
    assert paired_differences({}, {}) == {}
