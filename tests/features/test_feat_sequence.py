"""Weights of (attribute, label) pairs against dense matrices: scores in both layouts, changes in
that of training.
"""

from __future__ import annotations

import numpy as np
import pytest
from full_rows import full_rows
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sequences.scored import scored

from egparse.features.packed import (
    add_words,
    pack,
    place,
    score_words,
    unpack,
)
from egparse.features.sequence import (
    WHOLE_LABELS,
    WeightRows,
    supported_rows,
)

WORDS, TEMPLATES, ATTRIBUTES = 37, 3, 9


class Drawn:
    """Words with attributes and candidates, some pairs seen, and weights that are sums of quarters
    (exact in float32).
    """

    def __init__(self, seed: int, n_labels: int, full: bool) -> None:
        random = np.random.default_rng(seed)
        self.n_labels, self.random = n_labels, random
        self.attributes = random.integers(-1, ATTRIBUTES, size=(WORDS, TEMPLATES)).astype(np.int32)
        lists = [np.flatnonzero(random.random(n_labels) < 0.4) for _ in range(WORDS)]
        lists = [
            np.arange(n_labels) if full else own if len(own) else np.array([1]) for own in lists
        ]
        self.starts = np.cumsum([0] + [len(own) for own in lists]).astype(np.int32)
        self.candidates = np.concatenate(lists).astype(np.uint16)
        self.gold = np.array([random.choice(own) for own in lists], dtype=np.int32)

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    def table(self, rows: WeightRows) -> np.ndarray:
        """The weights as (attributes + 1, labels): the last row, of absent attributes, stays
        zero.
        """
        table = np.zeros((ATTRIBUTES + 1, self.n_labels))
        table[np.repeat(np.arange(ATTRIBUTES), np.diff(rows.starts)), rows.labels] = rows.weights
        return table

    def scores(self, table: np.ndarray) -> np.ndarray:
        words = np.repeat(np.arange(WORDS), np.diff(self.starts))
        return table[self.attributes[words]].sum(axis=1)[np.arange(self.size), self.candidates]

    def moved(self, table: np.ndarray, support: np.ndarray, changes: np.ndarray) -> np.ndarray:
        words = np.repeat(np.arange(WORDS), np.diff(self.starts))
        table = table.copy()
        for t in range(TEMPLATES):
            np.add.at(table, (self.attributes[words, t], self.candidates), changes)
        return np.where(support, table, 0.0)


drawn = st.builds(Drawn, st.integers(0, 2**31), st.sampled_from([2, 5, 70]), st.booleans())


@examples(60)
@given(drawn, st.booleans())
def test_scores_and_changes_are_those_of_matrices(words: Drawn, observed: bool) -> None:
    rows = (
        supported_rows(words.attributes, words.gold, ATTRIBUTES, words.n_labels)
        if observed
        else full_rows(ATTRIBUTES, words.n_labels)
    )
    support = words.table(rows._replace(weights=np.ones(len(rows.weights), np.float32))) > 0
    placement = place(words.attributes, rows, words.n_labels)
    packed = pack(
        words.attributes,
        rows,
        placement,
        words.candidates,
        words.starts.astype(np.int64),
        words.n_labels,
    )
    buffer = np.zeros(max(words.n_labels, packed.dense.shape[1]))
    expected, before = np.zeros((ATTRIBUTES + 1, words.n_labels)), 0.0
    for _ in range(3):
        changes = words.random.integers(-4, 5, size=words.size) / 4.0
        expected = words.moved(expected, support, changes)
        expected[-1] = 0.0
        after = float((expected**2).sum())
        norm_change = add_words(packed, 0, words.starts, words.candidates, buffer, changes)
        assert norm_change == pytest.approx(after - before, abs=1e-9)
        assert not buffer.any()
        before = after
    unpack(packed, placement, rows)
    np.testing.assert_array_equal(words.table(rows), expected[: ATTRIBUTES + 1])
    scores = np.empty(words.size)
    found = scored(
        words.attributes, rows, WHOLE_LABELS, words.n_labels, words.starts, words.candidates
    )
    np.testing.assert_allclose(found, words.scores(expected), atol=1e-12)
    score_words(packed, 0, words.starts, words.candidates, buffer, scores)
    np.testing.assert_allclose(scores, words.scores(expected), atol=1e-12)


def test_rows_hold_the_pairs_that_were_seen_in_order() -> None:
    attributes = np.array([[0, 2], [0, -1], [2, 0]], dtype=np.int32)
    rows = supported_rows(attributes, np.array([4, 1, 1], dtype=np.int32), 3, 5)
    assert rows.starts.tolist() == [0, 2, 2, 4]
    assert rows.labels.tolist() == [1, 4, 1, 4]
    assert not rows.weights.any()


def test_frequent_attributes_have_every_label() -> None:
    attributes = np.array([[0, 2], [0, -1], [2, 0]], dtype=np.int32)
    rows = supported_rows(attributes, np.array([4, 1, 1], dtype=np.int32), 3, 5, 3)
    assert rows.starts.tolist() == [0, 5, 5, 7]
    assert rows.labels.tolist() == [0, 1, 2, 3, 4, 1, 4]
