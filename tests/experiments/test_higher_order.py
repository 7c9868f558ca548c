"""Chains of order 1 to 3 against enumeration, against the chain of order 1, and by laws; the batch
decoder too.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from egparse.experiments.chains import higher_order as higher
from egparse.experiments.chains.higher_order_batch import best_sequences
from egparse.experiments.chains.higher_order_k_best import k_best
from egparse.experiments.chains.higher_order_states import n_ngrams, room_for, workspace
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from tolerances import DOUBLE, score_rounding

from egparse.structures.chains import chain
from egparse.structures.chains.batch import best_sequences as best_of_order_one
from egparse.structures.chains.batch import slack_of
from egparse.structures.chains.chain import BestSequence, Floats, Ints

FORBIDDEN = float("-inf")


class Drawn(NamedTuple):
    """A sentence in the layout of the chain, and its candidate labels word by word."""

    parts: Floats
    starts: Ints
    labels: Ints
    n_labels: int
    order: int
    candidates: list[list[int]]

    @property
    def arguments(self) -> tuple[Floats, Ints, Ints, int, int]:
        return self.parts, self.starts, self.labels, self.n_labels, self.order

    @property
    def terms(self) -> int:
        """A score for each word and each n-gram, at most."""
        return (self.order + 1) * len(self.candidates)

    def places(self, choice: tuple[int, ...]) -> list[int]:
        """The parts of the sequence whose word k takes its candidate number ``choice[k]``, one for
        each unit of count.
        """
        path = [own[place] for own, place in zip(self.candidates, choice, strict=True)]
        found = [int(start) + place for start, place in zip(self.starts, choice, strict=False)]
        begin = int(self.starts[-1])
        for length in range(2, self.order + 2):
            for end in range(length, len(path) + 1):
                code = 0
                for label in path[end - length : end]:
                    code = code * self.n_labels + label
                found.append(begin + code)
            begin += self.n_labels**length
        return found

    def enumerated(self) -> tuple[float, Floats, float]:
        """log Z, marginals, best score."""
        weighed = []
        for choice in itertools.product(*[range(len(own)) for own in self.candidates]):
            places = self.places(choice)
            score = sum(float(self.parts[place]) for place in places)
            if score > FORBIDDEN:
                weighed.append((score, places))
        expected = np.zeros_like(self.parts)
        if not weighed:
            return FORBIDDEN, expected, FORBIDDEN
        best = max(score for score, _ in weighed)
        log_z = best + math.log(math.fsum(math.exp(score - best) for score, _ in weighed))
        for score, places in weighed:
            np.add.at(expected, places, math.exp(score - log_z))
        return log_z, expected, best


def laid_out(candidates: list[list[int]], n_labels: int, order: int, parts: npt.ArrayLike) -> Drawn:
    starts = np.cumsum([0] + [len(own) for own in candidates]).astype(np.int32)
    labels = np.array([label for own in candidates for label in own], dtype=np.int32)
    return Drawn(np.asarray(parts, dtype=np.float64), starts, labels, n_labels, order, candidates)


def best_of(drawn: Drawn) -> BestSequence:
    """What ``viterbi`` finds."""
    words = len(drawn.candidates)
    room = room_for(drawn.starts, np.array([0, words]), drawn.n_labels, drawn.order)
    choice = np.full(words, -1, dtype=np.int32)
    score = higher.viterbi(*drawn.arguments, workspace(room, drawn.order), choice)
    return BestSequence(choice, score)


@st.composite
def sentences(draw: st.DrawFn, order: int | None = None) -> Drawn:
    """Up to five words and three labels, all labels at each word or some; ties, -inf, and hundreds
    of nats.
    """
    own_order = draw(st.integers(1, 3)) if order is None else order
    n_labels, n_words = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    everything = list(range(n_labels))
    subset = st.lists(st.sampled_from(everything), min_size=1, unique=True).map(sorted)
    full = draw(st.booleans())
    candidates = [everything if full else draw(subset) for _ in range(n_words)]
    size = sum(len(own) for own in candidates) + n_ngrams(n_labels, own_order)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 1.0, 3.0, 500.0]))
    parts = np.round(random.normal(size=size) * spread, draw(st.sampled_from([0, 12])))
    parts[random.random(size) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.4]))] = FORBIDDEN
    return laid_out(candidates, n_labels, own_order, parts)


@examples(150)
@given(sentences())
def test_distribution_is_that_of_enumeration(drawn: Drawn) -> None:
    log_z, expected, _ = drawn.enumerated()
    result = higher.marginals(*drawn.arguments)
    near = score_rounding(drawn.parts, drawn.terms)
    np.testing.assert_allclose(result.log_partition, log_z, rtol=0, atol=near)
    np.testing.assert_allclose(result.marginals, expected, rtol=3 * near, atol=DOUBLE)


@examples(150)
@given(sentences())
def test_best_sequence_scores_what_enumeration_finds(drawn: Drawn) -> None:
    best = best_of(drawn)
    near = score_rounding(drawn.parts, drawn.terms)
    np.testing.assert_allclose(best.score, drawn.enumerated()[2], rtol=0, atol=near)
    if best.score > FORBIDDEN:
        own = float(drawn.parts[drawn.places(tuple(best.choice.tolist()))].sum())
        assert own == pytest.approx(best.score, rel=0, abs=near)


@examples(80)
@given(sentences(order=1))
def test_order_one_is_the_chain(drawn: Drawn) -> None:
    plain = drawn.arguments[:4]
    ours, theirs = higher.marginals(*drawn.arguments), chain.marginals(*plain)
    near = 2 * score_rounding(drawn.parts, drawn.terms)
    np.testing.assert_allclose(ours.log_partition, theirs.log_partition, rtol=0, atol=near)
    np.testing.assert_allclose(ours.marginals, theirs.marginals, rtol=3 * near, atol=2 * DOUBLE)
    np.testing.assert_allclose(best_of(drawn).score, chain.argmax(*plain).score, rtol=0, atol=near)


@examples(80)
@given(drawn=sentences(), k=st.integers(1, 60))
def test_k_best_are_those_of_enumeration(drawn: Drawn, k: int) -> None:
    choices = itertools.product(*[range(len(own)) for own in drawn.candidates])
    scores = [float(drawn.parts[drawn.places(choice)].sum()) for choice in choices]
    ranked = sorted((score for score in scores if score > FORBIDDEN), reverse=True)
    found = k_best(*drawn.arguments, k)
    near = score_rounding(drawn.parts, drawn.terms)
    np.testing.assert_allclose(found.scores, ranked[:k], rtol=0, atol=near)
    assert len({choice.tobytes() for choice in found.choices}) == len(found.scores)
    for choice, score in zip(found.choices, found.scores, strict=True):
        own = float(drawn.parts[drawn.places(tuple(choice.tolist()))].sum())
        assert own == pytest.approx(score, rel=0, abs=near)


def test_faults_of_k_best() -> None:
    starts, labels = np.array([0, 2], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="expected k >= 1 and an order of at least 1, got 0 and 2"):
        k_best(np.zeros(14), starts, labels, 2, 2, 0)
    with pytest.raises(
        ValueError, match=r"expected 14 parts \(2 candidates, 2 labels\), got shape \(6,\)"
    ):
        k_best(np.zeros(6), starts, labels, 2, 2, 1)
    with pytest.raises(ValueError, match="at least one candidate a word"):
        k_best(np.zeros(14), np.array([0, 2, 2], dtype=np.int32), labels, 2, 2, 1)


def long_sentence(n: int, n_labels: int, order: int, *, listed: bool, spread: float = 2.0) -> Drawn:
    random = np.random.default_rng(n)
    candidates = [list(range(n_labels))] * n
    if listed:
        candidates = [
            np.flatnonzero(random.random(n_labels) < 0.5).tolist() or [k % n_labels]
            for k in range(n)
        ]
    size = sum(map(len, candidates)) + n_ngrams(n_labels, order)
    return laid_out(candidates, n_labels, order, random.normal(size=size) * spread)


sizes = pytest.mark.parametrize(("n", "n_labels", "order"), [(30, 8, 2), (200, 3, 2), (40, 4, 3)])
lists = pytest.mark.parametrize("listed", [False, True], ids=["full", "listed"])


@sizes
@lists
def test_zero_scores_count_the_sequences(n: int, n_labels: int, order: int, listed: bool) -> None:
    drawn = long_sentence(n, n_labels, order, listed=listed, spread=0.0)
    result = higher.marginals(*drawn.arguments)
    count = float(np.log(np.diff(drawn.starts)).sum())
    assert result.log_partition == pytest.approx(count, rel=1e-12)


@sizes
@lists
@pytest.mark.parametrize("spread", [2.0, 100.0])
def test_one_label_a_word_and_one_ngram_of_each_length_at_each_end(
    n: int, n_labels: int, order: int, listed: bool, spread: float
) -> None:
    drawn = long_sentence(n, n_labels, order, listed=listed, spread=spread)
    marginals = higher.marginals(*drawn.arguments).marginals
    np.testing.assert_allclose(
        np.add.reduceat(marginals[: drawn.starts[-1]], drawn.starts[:-1]), 1, rtol=1e-9
    )
    begin = int(drawn.starts[-1])
    for m in range(1, order + 1):
        assert marginals[begin : begin + n_labels ** (m + 1)].sum() == pytest.approx(
            n - m, rel=1e-9
        )
        begin += n_labels ** (m + 1)
    assert marginals.min() >= 0.0


@sizes
@lists
def test_marginals_are_the_gradient_of_log_partition(
    n: int, n_labels: int, order: int, listed: bool
) -> None:
    drawn = long_sentence(n, n_labels, order, listed=listed, spread=1.0)
    marginals, rest = higher.marginals(*drawn.arguments).marginals, drawn.arguments[1:]
    step = 1e-5
    for r in np.random.default_rng(1).choice(len(drawn.parts), 20, replace=False):
        up, down = drawn.parts.copy(), drawn.parts.copy()
        up[r] += step
        down[r] -= step
        change = (
            higher.marginals(up, *rest).log_partition - higher.marginals(down, *rest).log_partition
        )
        assert change / (2 * step) == pytest.approx(marginals[r], abs=1e-6)


@sizes
@lists
def test_log_partition_lies_between_the_best_and_the_best_times_all(
    n: int, n_labels: int, order: int, listed: bool
) -> None:
    drawn = long_sentence(n, n_labels, order, listed=listed)
    best, log_z = best_of(drawn).score, higher.marginals(*drawn.arguments).log_partition
    assert best <= log_z <= best + float(np.log(np.diff(drawn.starts)).sum())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_state_that_underflows_and_comes_back(order: int) -> None:
    # label 1 loses 720 nats at word 0, which scaled probabilities flush to 0; label 0 loses 400 at
    # each of two words after
    n_labels, n = 2, 3
    unary = [0.0, -720.0, 0.0, 400.0, 0.0, 400.0]
    bigrams = [0.0, FORBIDDEN, FORBIDDEN, 0.0]
    longer = [0.0] * (n_ngrams(n_labels, order) - 4)
    drawn = laid_out([[0, 1]] * n, n_labels, order, [*unary, *bigrams, *longer])
    log_z, expected, _ = drawn.enumerated()
    result = higher.marginals(*drawn.arguments)
    assert result.log_partition == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(result.marginals, expected, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("height", [1e6, -1e6])
def test_scores_of_any_height(order: int, height: float) -> None:
    drawn = long_sentence(20, 3, order, listed=False)
    lifted = drawn._replace(parts=drawn.parts + height)
    before, after = higher.marginals(*drawn.arguments), higher.marginals(*lifted.arguments)
    units = 20 + sum(20 - m for m in range(1, order + 1))
    assert after.log_partition - before.log_partition == pytest.approx(units * height, rel=1e-9)
    np.testing.assert_allclose(after.marginals, before.marginals, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_impossible_sentence(order: int) -> None:
    drawn = laid_out([[0], [0]], 1, order, [0.0, 0.0, FORBIDDEN, *[0.0] * (order - 1)])
    result = higher.marginals(*drawn.arguments)
    assert result.log_partition == FORBIDDEN
    assert not result.marginals.any()
    assert best_of(drawn).score == FORBIDDEN


@pytest.mark.parametrize(
    ("starts", "labels", "size", "order", "message"),
    [
        ([0], [], 4, 1, "at least one word"),
        ([0, 0], [], 4, 1, "at least one candidate"),
        ([0, 2], [0, 1], 6, 2, "expected 2 labels and 14 parts"),
        ([0, 1], [2], 13, 2, r"expected labels in 0\.\.1"),
        ([0, 2], [1, 0], 14, 2, "ascending"),
        ([0, 2], [0, 1], 2, 0, "order of at least 1, got 0"),
    ],
)
def test_arrays_that_do_not_fit(
    starts: list[int], labels: list[int], size: int, order: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        higher.marginals(
            np.zeros(size), np.array(starts, np.int32), np.array(labels, np.int32), 2, order
        )


class Batch(NamedTuple):
    """Sentences that share n-gram tables, for the decoder."""

    unary: Floats
    starts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.uint16]
    sentences: npt.NDArray[np.int64]
    ngrams: list[npt.NDArray[np.float32]]
    opening: npt.NDArray[np.float32]
    candidates: list[list[int]]


def batch(seed: int, lengths: list[int], n_labels: int, order: int, spread: float) -> Batch:
    random = np.random.default_rng(seed)
    sentences = np.cumsum([0, *lengths]).astype(np.int64)
    candidates = [
        np.flatnonzero(random.random(n_labels) < 0.7).tolist() or [0] for _ in range(sum(lengths))
    ]
    starts = np.cumsum([0, *map(len, candidates)]).astype(np.int64)
    ngrams = [random.normal(size=(n_labels,) * (m + 2)).astype(np.float32) for m in range(order)]
    opening = random.normal(size=n_labels).astype(np.float32)
    labels = np.array([label for own in candidates for label in own], dtype=np.uint16)
    return Batch(
        random.normal(scale=spread, size=len(labels)),
        starts,
        labels,
        sentences,
        ngrams,
        opening,
        candidates,
    )


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    n_labels=st.integers(1, 4),
    order=st.integers(1, 3),
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.1, 1.0, 20.0]),
    forbids=st.sampled_from(["", "bigrams", "opening"]),
)
def test_the_decoder_agrees_with_the_structure(
    lengths: list[int], n_labels: int, order: int, seed: int, spread: float, forbids: str
) -> None:
    own = batch(seed, lengths, n_labels, order, spread)
    random = np.random.default_rng(seed)
    allowed = None
    if forbids == "bigrams":
        allowed = random.random((n_labels, n_labels)) < 0.7
    if forbids == "opening":
        own.opening[random.random(n_labels) < 0.4] = FORBIDDEN
    chosen = np.full(len(own.candidates), -1, dtype=np.int32)
    best_sequences(*own[:6], allowed, chosen)
    tables = [table.astype(np.float64) for table in own.ngrams]
    if allowed is not None:
        tables[0][~allowed] = FORBIDDEN
    flat = np.concatenate([table.ravel() for table in tables])
    for first, end in itertools.pairwise(own.sentences):
        path, candidates = chosen[first:end].tolist(), own.candidates[first:end]
        assert all(label in among for label, among in zip(path, candidates, strict=True))
        if first == end:
            continue
        unary = own.unary[own.starts[first] : own.starts[end]].copy()
        unary[: len(candidates[0])] += own.opening[candidates[0]]
        drawn = laid_out(candidates, n_labels, order, np.concatenate([unary, flat]))
        best = best_of(drawn).score
        choice = tuple(among.index(label) for label, among in zip(path, candidates, strict=True))
        if best > FORBIDDEN:
            assert float(drawn.parts[drawn.places(choice)].sum()) == pytest.approx(
                best, rel=1e-9, abs=1e-9
            )


def test_the_decoder_of_order_one_and_two_agree_where_trigrams_say_nothing() -> None:
    own = batch(3, [12, 1, 30], 6, 1, 1.0)
    chosen = np.empty((3, len(own.candidates)), dtype=np.int32)
    slack = slack_of(own.ngrams[0])
    order_one = (*own[:4], own.labels, own.ngrams[0], own.opening, slack)
    best_of_order_one(*order_one, chosen[0])
    best_sequences(*own[:6], None, chosen[1])
    best_sequences(
        *own[:4], [own.ngrams[0], np.zeros((6, 6, 6), np.float32)], own.opening, None, chosen[2]
    )
    assert (chosen == chosen[0]).all()


def test_the_decoder_refuses_tables_of_other_shapes() -> None:
    own = batch(3, [2], 3, 2, 1.0)
    with pytest.raises(
        ValueError, match=r"expected n-gram tables \(3, 3\), \.\.\. by length, got \[\(3, 3, 3\)\]"
    ):
        best_sequences(*own[:4], own.ngrams[1:], own.opening, None, np.empty(2, np.int32))
