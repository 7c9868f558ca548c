"""The filter of arcs keeps what is frequent, the correct arcs in training, and always a tree."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from egparse.parsing.candidates import (
    ArcFilter,
    build_arc_filter,
    candidate_arcs,
    candidates_with_correct,
)
from egparse.structures.trees import nonprojective, projective


def arcs_of(values: np.ndarray, arc_filter: ArcFilter) -> set[tuple[int, int]]:
    room = np.empty((len(values) ** 2, 2), dtype=np.int16)
    return {tuple(arc) for arc in room[: candidate_arcs(values, arc_filter, room)].tolist()}


def random_corpus(seed: int, n_sentences: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    generator = np.random.default_rng(seed)
    sentences, heads = [], []
    for _ in range(n_sentences):
        n = int(generator.integers(1, 9))
        sentences.append(
            np.concatenate([[1], generator.integers(2, 6, size=n)]).astype(np.int32)[:, None]
        )
        heads.append(np.array([generator.integers(0, k + 1) for k in range(n)], dtype=np.int32))
    return sentences, heads


@given(st.integers(0, 500), st.sampled_from([0.0, 0.003, 0.5, 0.99]))
def test_a_tree_of_either_kind_always_exists(seed: int, share: float) -> None:
    sentences, heads = random_corpus(seed, 6)
    arc_filter = build_arc_filter(sentences[:3], heads[:3], 0, 2, share)
    for values in sentences:
        scores = np.full((len(values), len(values)), -np.inf)
        for head, dependent in arcs_of(values, arc_filter):
            scores[head, dependent] = 0.0
        assert projective.argmax(scores).score == 0.0
        assert nonprojective.argmax(scores).score == 0.0


def test_correct_arcs_are_candidates_in_training_without_doubles() -> None:
    sentences, heads = random_corpus(1, 30)
    arc_filter = build_arc_filter(sentences, heads, 0, 2, 0.9)
    for values, own in zip(sentences, heads, strict=True):
        arcs = candidates_with_correct(values, own, arc_filter)
        found = {tuple(arc) for arc in arcs.tolist()}
        assert len(found) == len(arcs)
        assert {(int(head), dependent) for dependent, head in enumerate(own, 1)} <= found


def test_a_share_of_zero_keeps_every_arc_and_a_larger_one_keeps_fewer() -> None:
    sentences, heads = random_corpus(2, 60)
    values = sentences[int(np.argmax([len(own) for own in sentences]))]
    n = len(values) - 1
    sizes = [
        len(arcs_of(values, build_arc_filter(sentences, heads, 0, 2, share)))
        for share in (0.0, 0.1, 0.5)
    ]
    assert sizes[0] == n * n
    assert sizes[0] >= sizes[1] >= sizes[2] >= n
