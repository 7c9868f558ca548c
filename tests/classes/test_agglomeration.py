"""The tree over classes, against Brown's definition of the best merge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from classes.texts import counted, from_grammar, runs
from hypothesis import given
from hypothesis import strategies as st
from oracles import brown

from egparse.classes.exchange import Classes, from_assignment
from egparse.classes.learning import Merge, agglomerate, merged, paths


def alone(text: list[list[str]], min_count: int = 1) -> Classes:
    """Every word in a class of its own."""
    counts = counted(text, min_count)
    n = len(counts.words)
    return from_assignment(counts, n, np.arange(n, dtype=np.int32))


def merges_of(classes: Classes, until: int = 1, jobs: int = 1) -> list[Merge]:
    with ThreadPoolExecutor(jobs) as threads:
        return agglomerate(classes, threads, until)


def assert_merges_are_browns(text: list[list[str]], classes: Classes) -> None:
    """Each merge is one of the best ones, and its gain is that of the recomputed likelihood."""
    now = dict(zip(classes.counts.words, classes.of_words.tolist(), strict=True))
    value = brown.log_likelihood(text, now)
    for kept, removed, gain in merges_of(classes):
        best, _ = brown.best_merge(text, now)
        now = brown.merge(now, kept, removed)
        after = brown.log_likelihood(text, now)
        assert kept < removed
        assert after == pytest.approx(best, abs=1e-7)
        assert gain == pytest.approx(after - value, abs=1e-7)
        value = after
    assert len(set(now.values())) <= 1


@given(runs, st.integers(1, 2))
def test_each_merge_is_the_best_by_the_definition(text: list[list[str]], min_count: int) -> None:
    classes = alone(text, min_count)
    if classes.counts.words:
        assert_merges_are_browns(text, classes)


def test_each_merge_is_the_best_in_a_longer_text() -> None:
    text = from_grammar(40, kinds=4, words=4)
    assert_merges_are_browns(text, alone(text))


def test_merging_stops_at_the_number_that_is_wanted() -> None:
    text = from_grammar(40, kinds=4, words=4)
    classes = alone(text)
    merges = merges_of(classes, 5)
    of = merged(classes.number, merges)
    assert sorted(set(of.tolist())) == list(range(5))
    few = from_assignment(classes.counts, 5, of[classes.of_words])
    gained = sum(merge.gain for merge in merges)
    assert few.log_likelihood() == pytest.approx(classes.log_likelihood() + gained)


def test_the_tree_does_not_depend_on_the_number_of_threads() -> None:
    classes = alone(from_grammar(100, kinds=8))
    assert merges_of(classes, jobs=1) == merges_of(classes, jobs=3)


@pytest.mark.parametrize("number", [1, 2, 3, 17])
def test_paths_are_the_leaves_of_a_binary_tree(number: int) -> None:
    draw = np.random.default_rng(number)
    left = list(range(number))
    merges = []
    while len(left) > 1:
        kept, removed = sorted(draw.choice(left, 2, replace=False).tolist())
        merges.append(Merge(kept, removed, 0.0))
        left.remove(removed)
    found = paths(number, merges)
    assert all(path and set(path) <= {"0", "1"} for path in found)
    for a in found:
        assert not any(b != a and b.startswith(a) for b in found)
    if number > 1:  # every inner node has two children
        assert sum(Fraction(1, 2 ** len(path)) for path in found) == 1
        assert len(set(found)) == number


def test_classes_that_are_merged_first_share_the_longest_path() -> None:
    found = paths(4, [Merge(1, 3, 0.0), Merge(0, 2, 0.0), Merge(0, 1, 0.0)])
    assert found == ["00", "10", "01", "11"]
