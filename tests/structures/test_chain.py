"""The chain against enumeration: log Z, marginals and the best sequence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.sequences import SequenceFacts, sequence_facts, sequence_score
from properties import examples
from tolerances import DOUBLE, score_rounding

from egparse.structures.chains import chain
from egparse.structures.chains.chain import Floats, Ints
from egparse.structures.vector_exp import exponentials

FORBIDDEN = float("-inf")


class Drawn(NamedTuple):
    """A sentence in the layout of the chain, and its candidate labels word by word."""

    parts: Floats
    starts: Ints
    labels: Ints
    n_labels: int
    candidates: list[list[int]]

    @property
    def unary(self) -> list[list[float]]:
        return [
            self.parts[a:b].tolist() for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]

    @property
    def transitions(self) -> list[list[float]]:
        return self.parts[self.starts[-1] :].reshape(self.n_labels, self.n_labels).tolist()

    @property
    def facts(self) -> SequenceFacts:
        return sequence_facts(self.unary, self.candidates, self.transitions)


def laid_out(candidates: list[list[int]], n_labels: int, parts: npt.ArrayLike) -> Drawn:
    starts = np.cumsum([0] + [len(own) for own in candidates]).astype(np.int32)
    labels = np.array([label for own in candidates for label in own], dtype=np.int32)
    return Drawn(np.asarray(parts, dtype=np.float64), starts, labels, n_labels, candidates)


@st.composite
def sentences(draw: st.DrawFn) -> Drawn:
    """Up to five words and four labels, all labels at each word or some; ties, -inf, and hundreds
    of nats.
    """
    n_labels = draw(st.integers(1, 4))
    n_words = draw(st.integers(1, 5))
    everything = list(range(n_labels))
    subset = st.lists(st.sampled_from(everything), min_size=1, unique=True).map(sorted)
    full = draw(st.booleans())
    candidates = [everything if full else draw(subset) for _ in range(n_words)]
    size = sum(len(own) for own in candidates) + n_labels**2
    wide = st.one_of(
        st.sampled_from([0.0, 0.0, 1.0, FORBIDDEN]), st.floats(-3, 3), st.floats(-500, 500)
    )
    cell = draw(st.sampled_from([wide, st.sampled_from([0.0, 1.0, FORBIDDEN]), st.floats(-2, 2)]))
    return laid_out(candidates, n_labels, draw(st.lists(cell, min_size=size, max_size=size)))


SUBNORMAL = laid_out([[0, 1, 2]] * 3, 3, [0, 0, 0, 0, 305, 0, 0, 0, 0, 0, 0, 420, 0, 0, 0, 0, 0, 0])
"""Label 0 at the second word has e^-725 of the mass there, of which half the digits are lost, and
half of the mass at the end.
"""


@examples(100)
@given(sentences())
@example(SUBNORMAL)
def test_distribution_is_that_of_enumeration(drawn: Drawn) -> None:
    facts = drawn.facts
    result = chain.marginals(drawn.parts, drawn.starts, drawn.labels, drawn.n_labels)
    near = score_rounding(drawn.parts, 2 * len(drawn.candidates))
    np.testing.assert_allclose(result.log_partition, facts.log_partition, rtol=0, atol=near)
    expected = np.concatenate([np.ravel(row) for row in [*facts.unary, *facts.transitions]])
    np.testing.assert_allclose(result.marginals, expected, rtol=3 * near, atol=DOUBLE)


@examples(100)
@given(sentences())
def test_best_sequence_scores_what_enumeration_finds(drawn: Drawn) -> None:
    best = chain.argmax(drawn.parts, drawn.starts, drawn.labels, drawn.n_labels)
    near = score_rounding(drawn.parts, 2 * len(drawn.candidates))
    np.testing.assert_allclose(best.score, drawn.facts.best, rtol=0, atol=near)
    if best.score > FORBIDDEN:
        own = sequence_score(best.choice.tolist(), drawn.unary, drawn.candidates, drawn.transitions)
        np.testing.assert_allclose(own, best.score, rtol=0, atol=near)


@pytest.mark.parametrize(
    "candidates", [[[0, 1], [0, 1], [0, 1]], [[0, 1], [0, 1], [1]]], ids=["full", "listed"]
)
def test_scales_that_underflow_are_redone_in_logarithms(candidates: list[list[int]]) -> None:
    # the only way from word 0 to word 1 loses a thousand nats against what each word alone prefers
    unary = [0.0, -1000.0, -1000.0, 0.0, *[0.0] * len(candidates[2])]
    drawn = laid_out(candidates, 2, [*unary, 0.0, FORBIDDEN, FORBIDDEN, 0.0])
    result = chain.marginals(drawn.parts, drawn.starts, drawn.labels, 2)
    assert result.log_partition == pytest.approx(drawn.facts.log_partition, rel=1e-12)
    assert result.marginals[: drawn.starts[1]] == pytest.approx(drawn.facts.unary[0], abs=1e-12)


@pytest.mark.parametrize(
    "candidates", [[[0, 1]] * 3, [[0, 1], [0, 1], [0, 1], [0]]], ids=["full", "listed"]
)
def test_a_label_that_underflows_and_comes_back(candidates: list[list[int]]) -> None:
    # label 1 loses 720 nats at the first word, which scaled probabilities flush to 0; label 0 loses
    # 400 at each of two words after
    unary = [0.0, -720.0, 0.0, 400.0, 0.0, 400.0, *[0.0] * (len(candidates) - 3)]
    back = 0.0 if len(candidates) > 3 else FORBIDDEN
    drawn = laid_out(candidates, 2, [*unary, 0.0, FORBIDDEN, back, 0.0])
    result = chain.marginals(drawn.parts, drawn.starts, drawn.labels, 2)
    assert result.log_partition == pytest.approx(drawn.facts.log_partition, rel=1e-12)
    expected = np.concatenate([np.ravel(row) for row in drawn.facts.unary])
    np.testing.assert_allclose(result.marginals[: drawn.starts[-1]], expected, atol=1e-12)


def test_impossible_sentence() -> None:
    drawn = laid_out([[0], [0]], 1, [0.0, 0.0, FORBIDDEN])
    result = chain.marginals(drawn.parts, drawn.starts, drawn.labels, 1)
    assert result.log_partition == FORBIDDEN
    assert not result.marginals.any()
    assert chain.argmax(drawn.parts, drawn.starts, drawn.labels, 1).score == FORBIDDEN


@pytest.mark.parametrize(
    ("starts", "labels", "size", "message"),
    [
        ([0], [], 4, "at least one word"),
        ([0, 0], [], 4, "at least one candidate"),
        ([0, 2], [0, 1], 5, "expected 2 labels and 6 parts"),
        ([0, 1], [2], 5, r"expected labels in 0\.\.1"),
        ([0, 2], [1, 0], 6, "ascending"),
    ],
)
def test_arrays_that_do_not_fit(
    starts: list[int], labels: list[int], size: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        chain.marginals(np.zeros(size), np.array(starts, np.int32), np.array(labels, np.int32), 2)


def test_exponentials_to_the_last_digits() -> None:
    scores = np.concatenate(
        [np.linspace(-708, 0, 2001), np.linspace(-1e-12, 0, 5), [-np.inf, -1e9, -709.0]]
    )
    out = np.empty_like(scores)
    exponentials(scores, np.empty_like(scores), out)
    np.testing.assert_allclose(out[1:-3], np.exp(scores[1:-3]), rtol=1e-15)
    assert not out[-3:].any()
