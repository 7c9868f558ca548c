"""The k best sequences against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequences import sequence_facts, sequence_score
from properties import examples
from tolerances import score_rounding

from egparse.structures.chains import chain, multiclass
from egparse.structures.chains.k_best import Floats, Ints, k_best

CELLS = [st.sampled_from([0.0, 0.0, 1.0, float("-inf")]), st.floats(-3, 3)]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[Floats, Ints, list[list[int]], int]:
    """Parts, starts, candidate labels, and the number of labels: up to four words and three labels,
    with ties and -inf.
    """
    n_labels, n_words = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    subset = st.lists(st.integers(0, n_labels - 1), min_size=1, unique=True).map(sorted)
    candidates = [draw(subset) for _ in range(n_words)]
    starts = np.cumsum([0] + [len(own) for own in candidates]).astype(np.int32)
    size = int(starts[-1]) + n_labels**2
    parts = draw(st.lists(draw(st.sampled_from(CELLS)), min_size=size, max_size=size))
    return np.array(parts), starts, candidates, n_labels


@pytest.mark.parametrize("bigrams", [True, False])
@examples(80)
@given(drawn=sentences(), k=st.integers(1, 100))
def test_scores_are_those_of_enumeration(
    bigrams: bool, drawn: tuple[Floats, Ints, list[list[int]], int], k: int
) -> None:
    parts, starts, candidates, n_labels = drawn
    unary = [parts[a:b].tolist() for a, b in itertools.pairwise(starts)]
    transitions = (
        parts[starts[-1] :].reshape(n_labels, n_labels) if bigrams else np.zeros((n_labels,) * 2)
    )
    labels = np.concatenate([np.array(own, dtype=np.int32) for own in candidates])
    given_parts = parts if bigrams else parts[: starts[-1]]
    found = k_best(given_parts, starts, labels, n_labels if bigrams else 0, k)
    ranked = sequence_facts(unary, candidates, transitions.tolist()).ranked
    near = score_rounding(parts, 2 * len(candidates))
    np.testing.assert_allclose(found.scores, ranked[:k], rtol=0, atol=near)
    assert len({choice.tobytes() for choice in found.choices}) == len(found.scores)
    for choice, score in zip(found.choices, found.scores, strict=True):
        own = sequence_score(choice.tolist(), unary, candidates, transitions.tolist())
        assert own == pytest.approx(score, rel=0, abs=near)


def test_the_first_is_the_best_of_long_sentences() -> None:
    random = np.random.default_rng(1)
    words, size = 60, 7
    starts = np.arange(words + 1, dtype=np.int32) * size
    labels = np.tile(np.arange(size, dtype=np.int32), words)
    parts = random.normal(size=words * size + size**2)
    found = k_best(parts, starts, labels, size, 20)
    best = chain.argmax(parts, starts, labels, size)
    assert (found.choices[0] == best.choice).all()
    assert found.scores[0] == pytest.approx(best.score, rel=1e-12)
    assert (np.diff(found.scores) <= 0).all()
    alone = k_best(parts[: words * size], starts, labels, 0, 20)
    independent = np.empty(words, dtype=np.int32)
    multiclass.best_choice(parts[: words * size], starts, independent)
    assert (alone.choices[0] == independent).all()
    assert len(found.scores) == len(alone.scores) == 20


def test_faults() -> None:
    starts, labels = np.array([0, 2], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="expected k >= 1, got 0"):
        k_best(np.zeros(6), starts, labels, 2, 0)
    with pytest.raises(
        ValueError, match=r"expected 6 parts \(2 candidates, 2 labels\), got shape \(5,\)"
    ):
        k_best(np.zeros(5), starts, labels, 2, 1)
    with pytest.raises(ValueError, match="at least one candidate a word"):
        k_best(np.zeros(2), np.array([0, 2, 2], dtype=np.int32), labels, 0, 1)
