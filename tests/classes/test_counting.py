"""Counting words and pairs of neighbours."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from classes.texts import counted, runs
from hypothesis import given
from oracles import brown

from egparse.classes import counting
from egparse.classes.counting import PairCounts, TextCounter
from egparse.errors import EgparseError


def pairs_of(counts: PairCounts) -> Counter[tuple[str | None, str | None]]:
    names = [*counts.words, brown.OTHER, None]
    pairs: Counter[tuple[str | None, str | None]] = Counter()
    for w, name in enumerate(names):
        if counts.repeats[w]:
            pairs[name, name] += int(counts.repeats[w])
        starts, words, times = counts.following
        for place in range(starts[w], starts[w + 1]):
            pairs[name, names[words[place]]] += int(times[place])
    return pairs


@given(runs)
def test_pairs_are_counted_as_they_stand_in_the_text(text: list[list[str]]) -> None:
    for min_count in (1, 2, 4):
        counts = counted(text, min_count)
        expected = Counter(brown.neighbours(text, dict.fromkeys(counts.words)))
        assert pairs_of(counts) == expected
        assert counts.total == expected.total()


@given(runs)
def test_preceding_neighbours_are_the_other_side_of_following_ones(text: list[list[str]]) -> None:
    counts = counted(text)

    def triples(neighbours: counting.Neighbours) -> list[tuple[int, int, int]]:
        words = np.repeat(np.arange(len(neighbours.starts) - 1), np.diff(neighbours.starts))
        return list(
            zip(words.tolist(), neighbours.words.tolist(), neighbours.counts.tolist(), strict=True)
        )

    turned = sorted((b, a, n) for a, b, n in triples(counts.following))
    assert triples(counts.preceding) == turned


@given(runs)
def test_words_are_as_often_left_as_right(text: list[list[str]]) -> None:
    counts = counted(text, 2)
    left = counts.repeats.copy()
    np.add.at(left, counts.preceding.words, counts.preceding.counts)
    assert left.tolist() == counts.counts.tolist()


def test_the_most_frequent_words_get_classes_and_ties_go_by_the_alphabet() -> None:
    text = [["b", "a", "c", "c", "d"], ["b", "a", "e"]]
    assert counted(text).words == ("a", "b", "c", "d", "e")
    assert counted(text, 2).words == ("a", "b", "c")
    counter = TextCounter()
    counter.add_runs(text)
    assert counter.words == 8
    counts = counter.pair_counts(1, 2)
    assert counts.words == ("a", "b")
    assert (counts.outside, counts.types) == (4, 5)


def test_the_counts_do_not_depend_on_the_pieces_in_which_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = [list("abacabad"), list("deed"), [], list("aab")]
    whole = counted(text)
    monkeypatch.setattr(counting, "_AT_A_TIME", 3)
    monkeypatch.setattr(counting, "_BUFFERED", 2)
    parts = counted(text)
    assert pairs_of(parts) == pairs_of(whole)
    assert parts.words == whole.words


def test_an_empty_text_has_no_words() -> None:
    counts = counted([[], []])
    assert (counts.words, counts.total, counts.types) == ((), 0, 0)


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_WORDS", 5)
    with pytest.raises(EgparseError, match="fewer than 5 words"):
        counted([list("abcdefg")])
