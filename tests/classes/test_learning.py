"""Learning classes from counts: likelihood, interruption, what is written; and the tree over
classes, against Brown's definition of the best merge.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from classes.texts import counted, from_grammar, runs
from hypothesis import given
from hypothesis import strategies as st
from oracles import brown

from egparse.classes.counting import TextCounter, TextOptions, count_words
from egparse.classes.exchange import Classes, from_assignment, initial_classes
from egparse.classes.learning import (
    Learned,
    LearningOptions,
    Merge,
    Merging,
    Pass,
    agglomerate,
    learn,
    merged,
    paths,
)
from egparse.errors import ConfigError

CORPORA = Path(__file__).parents[2] / "corpora"


def classes_of(learned: Learned) -> dict[str, str]:
    return {word: path for path, word, _ in learned.words()}


def test_classes_are_as_likely_as_those_of_browns_greedy_algorithm() -> None:
    text = from_grammar(60, kinds=5, words=5)
    counts = counted(text)
    learned = learn(counts, LearningOptions(classes=5))
    greedy = brown.brown_classes(text, counts.words, 5)
    found = brown.log_likelihood(text, classes_of(learned))
    assert found == pytest.approx(learned.classes.log_likelihood())
    assert found >= brown.log_likelihood(text, greedy) - 1e-6


def test_words_that_stand_in_the_same_places_get_the_same_class() -> None:
    text = from_grammar(2000, kinds=6, words=8)
    learned = learn(counted(text), LearningOptions(classes=6))
    kinds = defaultdict(set)
    for word, path in classes_of(learned).items():
        kinds[path].add(word[0])
    assert sorted(map(len, kinds.values())) == [1] * 6


def test_lines_are_those_of_liangs_format_sorted_by_path_and_count() -> None:
    learned = learn(counted(from_grammar(100)), LearningOptions(classes=7))
    rows = [line.rstrip("\n").split("\t") for line in learned.lines()]
    assert all(len(row) == 3 for row in rows)
    keys = [(path, -int(count)) for path, _, count in rows]
    assert keys == sorted(keys)
    assert len(list(groupby(rows, key=lambda row: row[0]))) == 7
    assert {word for _, word, _ in rows} == set(learned.classes.counts.words)


def test_equal_texts_give_equal_classes_whatever_the_number_of_threads() -> None:
    text = from_grammar(200)
    one = learn(counted(text), LearningOptions(classes=9, threads=1))
    more = learn(counted(text), LearningOptions(classes=9, threads=4))
    assert list(one.lines()) == list(more.lines())
    assert one.passes == more.passes


def test_passes_say_what_they_reach() -> None:
    events: list[Pass | Merging] = []
    learned = learn(counted(from_grammar(200)), LearningOptions(classes=6), listener=events.append)
    heard = [event for event in events if isinstance(event, Pass)]
    assert heard == learned.passes
    assert [event for event in events if isinstance(event, Merging)] == [(9, 6), (6, 1)]
    assert events.index(Merging(9, 6)) == 3
    assert events[-1] == Merging(6, 1)
    assert [one.number for one in heard] == list(range(1, len(heard) + 1))
    assert [one.classes for one in heard][:3] == [9, 9, 9]
    assert heard[-1].classes == 6
    assert heard[-1].perplexity == learned.perplexity
    for classes in (9, 6):
        values = [one.log_likelihood for one in heard if one.classes == classes]
        assert values == sorted(values)


@pytest.mark.parametrize("passes", [1, 2, 4])
def test_passes_are_bounded(passes: int) -> None:
    learned = learn(counted(from_grammar(200)), LearningOptions(classes=6, passes=passes))
    assert len(learned.passes) <= passes
    assert len(learned.paths) == 6


def test_few_words_get_a_class_each() -> None:
    learned = learn(counted([["a", "b", "a"], ["c"]]), LearningOptions(classes=100))
    assert sorted(classes_of(learned)) == ["a", "b", "c"]
    assert len(set(classes_of(learned).values())) == 3
    assert list(learn(counted([["a"]]), LearningOptions()).lines()) == ["0\ta\t1\n"]


def interrupted_after(calls: int) -> tuple[Learned, list[int]]:
    seen: list[int] = []

    def check() -> None:
        seen.append(len(seen))
        if len(seen) > calls:
            raise KeyboardInterrupt

    counts = counted(from_grammar(200))
    return learn(counts, LearningOptions(classes=6), check=check), seen


def test_an_interruption_keeps_the_classes_that_are_reached() -> None:
    batches = 3  # of 47 words, 16 at a time
    for calls in (batches, batches + 1, 3 * batches, 3 * batches + 2):
        learned, _ = interrupted_after(calls)
        assert learned.interrupted
        assert len(classes_of(learned)) == 47
        assert len(set(classes_of(learned).values())) == 6


def test_an_interruption_of_the_first_pass_leaves_nothing() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(2)


def test_no_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="frequent enough"):
        learn(counted([["a"]], 2), LearningOptions())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"classes": 1}, "2 to 5,000 classes, got 1"),
        ({"classes": 20_000}, "2 to 5,000 classes, got 20,000"),
        ({"passes": 0}, "at least one pass, got 0"),
        ({"threads": 0}, "at least one thread, got 0"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        LearningOptions(**options)


@pytest.mark.parametrize("number", [20, 60])
def test_classes_of_a_corpus_are_more_likely_than_browns(number: int) -> None:
    """Merging words that are alone at first is Brown's algorithm, as other tests show."""
    counter = TextCounter()
    count_words(counter, CORPORA / "en_sample-train.conllu", "conllu", TextOptions())
    counts = counter.pair_counts(2)
    alone = initial_classes(counts, len(counts.words))
    with ThreadPoolExecutor(1) as threads:
        merges = agglomerate(alone, threads, number)
    of = merged(alone.number, merges)[alone.of_words]
    greedy = from_assignment(counts, number, of).log_likelihood()
    assert learn(counts, LearningOptions(classes=number)).classes.log_likelihood() > greedy


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
