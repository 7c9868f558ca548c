"""Candidate arcs: what is frequent, the correct arcs in training, and always a tree. Candidate
labels: what was seen, what stands in for what was not, and the correct one in training.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.features.arcs import ArcLabels
from egparse.parsing.candidates import (
    NO_LABEL,
    ArcFilter,
    ArcLabelDictionary,
    build_arc_filter,
    build_dictionary,
    candidate_arcs,
    candidate_labels,
    candidates_with_correct,
    label_ranks,
    rank_labels,
    with_correct,
)
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.trees import nonprojective, projective

Ints = npt.NDArray[np.int32]


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


# --- labels ---------------------------------------------------------------------------------------

ROOT, NOUN, VERB, ADJ, NEW = 1, 2, 3, 4, 9
SENTENCES = (
    ((ADJ, NOUN, VERB), (2, 3, 0), ("amod", "nsubj", "root")),
    ((NOUN, VERB, NOUN), (2, 0, 2), ("nsubj:pass", "root", "obj")),
    ((VERB, NOUN), (0, 1), ("root", "obj")),
)


def numbers(values: tuple[int, ...]) -> Ints:
    return np.array(values, dtype=np.int32)


def rows(tags: tuple[int, ...]) -> Ints:
    """Two columns, the tags in the second; row 0 is the root."""
    return np.stack([np.zeros(len(tags) + 1), [ROOT, *tags]], axis=1).astype(np.int32)


def built(sentences: tuple = SENTENCES) -> tuple[ArcLabelDictionary, tuple[str, ...]]:
    deprels = [labels for _, _, labels in sentences]
    ranked = rank_labels(deprels)
    heads = [numbers(own) for _, own, _ in sentences]
    ranks = label_ranks(deprels, ranked, [len(own) for own in heads])
    return build_dictionary(
        [rows(tags) for tags, _, _ in sentences], heads, ranks, len(ranked), 1
    ), ranked


def candidates(
    dictionary: ArcLabelDictionary,
    tags: tuple[int, ...],
    *arcs: tuple[int, int],
    every_arc: bool = True,
) -> ArcLabels:
    """The labels of the arcs, by head and from the head outward."""
    graph = lay_out(np.array(arcs, dtype=np.int16), len(tags) + 1, True, True)
    return candidate_labels(rows(tags), graph, dictionary, every_arc)


def lists(found: ArcLabels) -> list[list[int]]:
    return [
        found.labels[a:b].tolist() for a, b in zip(found.starts, found.starts[1:], strict=False)
    ]


def test_ranks_are_by_frequency_and_subtypes_are_cut_off() -> None:
    assert rank_labels([("a:x", "b", "a"), ("b", "c", "b")]) == ("b", "a", "c")
    ranks = label_ranks([("a:y", "d"), ()], ("b", "a"), [2, 3])
    assert [own.tolist() for own in ranks] == [[1, NO_LABEL], [NO_LABEL] * 3]
    missing = [("_", "_", "a", "_")]
    assert rank_labels(missing) == ("a",)
    assert label_ranks(missing, ("a",), [4])[0].tolist() == [NO_LABEL, NO_LABEL, 0, NO_LABEL]


def test_an_arc_has_the_labels_seen_on_arcs_of_its_tags_and_direction() -> None:
    dictionary, ranked = built()
    arcs = ((0, 2), (2, 1), (2, 3))
    found = lists(candidates(dictionary, (NOUN, VERB, NOUN), *arcs))
    assert [[ranked[label] for label in own] for own in found] == [["root"], ["nsubj"], ["obj"]]


def test_the_only_arc_into_a_word_needs_no_labels() -> None:
    dictionary, _ = built()
    tags, arcs = (NOUN, VERB, NOUN), ((0, 2), (2, 1), (1, 3), (2, 3))
    every = lists(candidates(dictionary, tags, *arcs))
    assert all(every)
    found = lists(candidates(dictionary, tags, *arcs, every_arc=False))
    assert found == [[], every[1], [], every[3]]  # (0, 2), (1, 3), (2, 1), (2, 3)


@pytest.mark.parametrize(
    ("tags", "arc"),
    [((NOUN, NOUN), (1, 2)), ((NEW, NOUN), (1, 2)), ((100, NOUN), (1, 2)), ((NOUN, NOUN), (0, 2))],
    ids=["never together", "tag between known ones", "tag above known ones", "below the root"],
)
def test_an_arc_never_seen_has_what_its_dependent_has_elsewhere(
    tags: tuple[int, ...], arc: tuple[int, int]
) -> None:
    dictionary, ranked = built((*SENTENCES, ((11,), (0,), ("root",))))
    (found,) = lists(candidates(dictionary, tags, arc))
    assert {ranked[label] for label in found} == {"nsubj", "obj"}
    assert lists(candidates(built()[0], (NEW, NOUN), (2, 1))) == [[0]]  # its dependent neither


def test_rare_labels_of_a_kind_are_left_out() -> None:
    often = tuple(((NOUN, VERB), (2, 0), ("nsubj", "root")) for _ in range(600))
    rare = (((NOUN, VERB), (2, 0), ("dep", "root")),)
    for times, expected in ((2, {"nsubj"}), (3, {"nsubj", "dep"})):
        dictionary, ranked = built((*often, *(times * rare)))
        (found,) = lists(candidates(dictionary, (NOUN, VERB), (2, 1)))
        assert {ranked[label] for label in found} == expected


@pytest.mark.parametrize(
    ("heads", "ranks", "expected"),
    [
        # the first word has its label among the candidates, the second has not
        ((2, 0), (7, 8), [[5, 6], [7], [3, 4], [8]]),
        ((0, 1), (8, 3), [[5, 8], [7], [3, 4], [9]]),
        # a word without a label has no labelled arcs: else its correct tree would lack a part that
        # every tree has, and all labels of its arc were wrong
        ((2, 0), (NO_LABEL, 8), [[], [], [3, 4], [8]]),
    ],
)
def test_the_correct_label_is_among_those_of_a_correct_arc_alone(
    heads: tuple[int, ...], ranks: tuple[int, ...], expected: list[list[int]]
) -> None:
    arcs = np.array([(0, 1), (2, 1), (1, 2), (0, 2)], dtype=np.int16)
    own = ArcLabels(np.array([5, 6, 7, 3, 4, 9], dtype=np.uint8), numbers((0, 2, 3, 5, 6)))
    assert lists(with_correct(own, arcs, numbers(heads), numbers(ranks))) == expected
    assert own.labels.tolist() == [5, 6, 7, 3, 4, 9]


def test_a_corpus_without_labels_has_no_candidates() -> None:
    dictionary, ranked = built(tuple((tags, heads, ()) for tags, heads, _ in SENTENCES))
    assert ranked == ()
    found = candidates(dictionary, (NOUN, VERB, NEW), (2, 1), (0, 2), (2, 3))
    arcs = np.array([(2, 1), (0, 2), (2, 3)], dtype=np.int16)
    own = with_correct(found, arcs, numbers((2, 0, 2)), numbers((-1, -1, -1)))
    assert lists(found) == lists(own) == [[], [], []]


def test_of_more_than_255_labels_the_rarest_are_unknown() -> None:
    """Labels are bytes."""
    names = [f"l{number:03}" for number in range(300)]
    sentences = tuple(((NOUN, VERB), (2, 0), (name, "root")) for name in names)
    dictionary, ranked = built(sentences)
    assert len(ranked) == 255
    assert ranked == ("root", *names[:254])
    assert dictionary.labels.dtype == np.uint8
    (ranks,) = label_ranks([(names[253], names[254])], ranked, [2])
    assert ranks.tolist() == [254, NO_LABEL]
    arcs = np.array([(2, 1)], dtype=np.int16)
    found = candidates(dictionary, (NOUN, VERB), (2, 1))
    assert 254 in lists(with_correct(found, arcs, numbers((2, 0)), numbers((254, 0))))[0]
