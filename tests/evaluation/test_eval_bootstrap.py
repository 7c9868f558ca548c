"""Intervals: coverage on synthetic corpora, determinism, agreement with a plain loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from egparse.evaluation import bootstrap
from egparse.evaluation.bootstrap import intervals
from egparse.types import Longs


def synthetic(rng: np.random.Generator, sentences: int = 150, mean: float = 0.8) -> Longs:
    """Counts for sentences of 5 to 25 words; their accuracies vary (beta, strength 8)."""
    words = rng.integers(5, 26, size=sentences)
    correct = rng.binomial(words, rng.beta(8 * mean, 8 * (1 - mean), size=sentences))
    return np.stack([correct, words, words], axis=1)


def spans(rng: np.random.Generator) -> Longs:
    gold = rng.poisson(2.0, size=200)
    correct = rng.binomial(gold, 0.7)
    return np.stack([correct, gold, correct + rng.poisson(0.8, size=200)], axis=1)


@pytest.mark.parametrize(
    ("draw", "truth", "seed"),
    [(synthetic, 80.0, 0), (spans, 200 * (2.0 * 0.7) / (2.0 + 2.0 * 0.7 + 0.8), 1)],
)
def test_intervals_cover_the_truth_about_as_often_as_promised(
    draw: Callable[[np.random.Generator], Longs], truth: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    found = [intervals({"a": draw(rng)}, resamples=300, seed=k)["a"] for k in range(300)]
    # 0.95 and three standard errors, with the slight undercoverage of percentiles
    assert 0.91 <= np.mean([low <= truth <= high for low, high in found]) <= 0.98


def test_an_interval_is_that_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = synthetic(np.random.default_rng(2), sentences=40)
    rng = np.random.default_rng(7)
    scores = []
    for _ in range(200):
        correct, gold, system = counts[rng.integers(0, 40, size=40)].sum(axis=0)
        scores.append(200.0 * correct / (gold + system))
    low, high = np.percentile(scores, [5, 95])
    for cells in (40, 400, 10**9):  # blocks of 1, 10 and all resamples draw the same numbers
        monkeypatch.setattr(bootstrap, "_BLOCK_CELLS", cells)
        found = intervals({"a": counts}, resamples=200, seed=7, level=0.9)["a"]
        assert found == pytest.approx((low, high))


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    counts = {"a": synthetic(np.random.default_rng(3)), "b": synthetic(np.random.default_rng(4))}
    first, again, other = (intervals(counts, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    # whatever else is resampled with it
    assert first["a"] == intervals({"a": counts["a"]}, seed=5)["a"]


def test_sentences_without_spans_are_no_problem() -> None:
    assert intervals({"none": np.zeros((5, 3), dtype=np.int64)})["none"] == (0.0, 0.0)


def test_mistakes_are_named() -> None:
    counts = synthetic(np.random.default_rng(10))
    assert intervals({}) == {}
    with pytest.raises(ValueError, match=r"expected tables of one shape \(sentences, 3\), got"):
        intervals({"a": counts, "b": counts[:10]})
    with pytest.raises(ValueError, match="expected tables of one shape"):
        intervals({"a": counts[:0]})
    with pytest.raises(ValueError, match="expected a level between 0 and 1, got 95"):
        intervals({"a": counts}, level=95)
    with pytest.raises(ValueError, match="expected at least one resample, got 0"):
        intervals({"a": counts}, resamples=0)
