"""The batch decoder agrees with enumeration, whatever it passes over."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequences import sequence_facts

from egparse.structures.chains.batch import best_sequences, slack_of


@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    n_labels=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.1, 1.0, 6.0]),
    forbids=st.booleans(),
    n_classes=st.integers(0, 3),
)
def test_the_best_score_is_that_of_enumeration(
    lengths: list[int], n_labels: int, seed: int, spread: float, forbids: bool, n_classes: int
) -> None:
    """Bigrams of the labels, or of so many classes of labels."""
    generator = np.random.default_rng(seed)
    classes = np.arange(n_labels, dtype=np.uint16)
    if n_classes:
        classes = generator.integers(0, n_classes, size=n_labels).astype(np.uint16)
    size = n_classes or n_labels
    transitions = generator.normal(size=(size, size)).astype(np.float32)
    if forbids:
        transitions[generator.random(size=transitions.shape) < 0.2] = -np.inf
    sentences = np.cumsum([0, *lengths]).astype(np.int64)
    lists = [
        np.flatnonzero(generator.random(n_labels) < 0.7).tolist() or [0]
        for _ in range(int(sentences[-1]))
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    labels = np.concatenate(lists).astype(np.uint16)
    unary = generator.normal(scale=spread, size=len(labels))
    chosen = np.empty(len(lists), dtype=np.int32)
    opening, slack = np.zeros(size, dtype=np.float32), slack_of(transitions)
    best_sequences(
        unary, starts, classes[labels], sentences, labels, transitions, opening, slack, chosen
    )
    for first, end in itertools.pairwise(sentences):
        own = [unary[starts[k] : starts[k + 1]].tolist() for k in range(first, end)]
        in_bigrams = [classes[labels].tolist() for labels in lists[first:end]]
        facts = sequence_facts(own, in_bigrams, transitions.astype(float))
        path = chosen[first:end].tolist()
        assert all(label in allowed for label, allowed in zip(path, lists[first:end], strict=True))
        score = sum(own[k][lists[first + k].index(label)] for k, label in enumerate(path))
        score += sum(float(transitions[a, b]) for a, b in itertools.pairwise(classes[path]))
        if facts.best > -np.inf:
            assert abs(score - facts.best) < 1e-5
