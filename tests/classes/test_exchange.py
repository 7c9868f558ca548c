"""The exchange algorithm, against the definition of the likelihood."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from classes.texts import counted, from_grammar, runs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brown

from egparse.classes import exchange as module
from egparse.classes.counting import PairCounts
from egparse.classes.exchange import (
    FIXED,
    Classes,
    best_classes,
    exchange,
    from_assignment,
    initial_classes,
    n_log_n,
    n_log_n_table,
)
from egparse.types import Ints

TABLE = n_log_n_table()

drawn = st.tuples(runs, st.integers(2, 4), st.integers(1, 2), st.randoms(use_true_random=False))
"""A text, a number of classes, the least count of a word with a class, and chance."""


def as_dict(classes: Classes) -> dict[str, int]:
    return dict(zip(classes.counts.words, classes.of_words.tolist(), strict=True))


def drawn_classes(counts: PairCounts, number: int, chance: object) -> Classes:
    of = [chance.randrange(number) for _ in counts.words]  # type: ignore[attr-defined]
    return from_assignment(counts, number, np.array(of, dtype=np.int32))


def targets_of(classes: Classes) -> Ints:
    counts = classes.counts
    targets = np.full(len(counts.words), -1, dtype=np.int32)
    best_classes(
        0,
        len(targets),
        counts.following,
        counts.preceding,
        counts.counts,
        counts.repeats,
        classes.state,
        TABLE,
        targets,
    )
    return targets


def assert_counts_are_those_of_the_classes(classes: Classes) -> None:
    anew = from_assignment(classes.counts, classes.number, classes.of_words.copy())
    for found, expected in zip(classes.state, anew.state, strict=True):
        assert np.array_equal(found, expected)


@given(drawn)
def test_the_likelihood_is_that_of_the_definition(case: tuple) -> None:  # type: ignore[type-arg]
    text, number, min_count, chance = case
    counts = counted(text, min_count)
    classes = drawn_classes(counts, number, chance)
    value = classes.log_likelihood()
    assert value == pytest.approx(brown.log_likelihood(text, as_dict(classes)), abs=1e-9)
    assert classes.perplexity() == pytest.approx(math.exp(-value / max(1, counts.total)))


@given(drawn)
def test_the_best_class_is_the_one_that_the_definition_gives(case: tuple) -> None:  # type: ignore[type-arg]
    text, number, min_count, chance = case
    counts = counted(text, min_count)
    classes = drawn_classes(counts, number, chance)
    for word, target in zip(counts.words, targets_of(classes).tolist(), strict=True):
        values = [brown.log_likelihood(text, {**as_dict(classes), word: c}) for c in range(number)]
        assert values[target] == pytest.approx(max(values), abs=1e-9)


@given(drawn)
def test_a_change_is_that_of_the_recomputed_likelihood(case: tuple) -> None:  # type: ignore[type-arg]
    text, number, min_count, chance = case
    counts = counted(text, min_count)
    if not counts.words:
        return
    classes = drawn_classes(counts, number, chance)
    w = chance.randrange(len(counts.words))
    own, target = int(classes.state.of[w]), chance.randrange(number)
    before = classes.log_likelihood()
    after_w, before_w = (np.zeros(number + FIXED, dtype=np.int32) for _ in range(2))
    for neighbours, out in ((counts.following, after_w), (counts.preceding, before_w)):
        starts, words, times = neighbours
        place = slice(starts[w], starts[w + 1])
        np.add.at(out, classes.state.of[words[place]], times[place])
    count, repeated = int(counts.counts[w]), int(counts.repeats[w])
    gain = module._shift(
        own, -1, after_w, before_w, count, repeated, classes.state, TABLE
    ) + module._shift(target, 1, after_w, before_w, count, repeated, classes.state, TABLE)
    classes.state.of[w] = target
    assert_counts_are_those_of_the_classes(classes)
    assert gain == pytest.approx(classes.log_likelihood() - before, abs=1e-9)


@given(drawn)
def test_passes_never_lower_the_likelihood_and_end_where_no_move_raises_it(case: tuple) -> None:  # type: ignore[type-arg]
    text, number, min_count, chance = case
    counts = counted(text, min_count)
    classes = drawn_classes(counts, number, chance)
    value = classes.log_likelihood()
    with ThreadPoolExecutor(1) as threads:
        while exchange(classes, threads, 1):
            assert_counts_are_those_of_the_classes(classes)
            assert classes.log_likelihood() > value
            value = classes.log_likelihood()
    for word in counts.words:
        for c in range(number):
            other = brown.log_likelihood(text, {**as_dict(classes), word: c})
            assert other <= value + 2e-6


@settings(max_examples=25)
@given(runs)
def test_few_words_come_close_to_the_best_of_all_partitions(text: list[list[str]]) -> None:
    counts = counted(text)
    best = max(
        (brown.log_likelihood(text, one) for one in brown.partitions(counts.words, 3)), default=0.0
    )
    classes = initial_classes(counts, min(3, max(1, len(counts.words))))
    alone = brown.log_likelihood(text, dict.fromkeys(counts.words, 0))
    with ThreadPoolExecutor(1) as threads:
        while exchange(classes, threads, 1):
            pass
    value = classes.log_likelihood()
    assert value <= best + 1e-9
    assert value >= alone - 1e-9


def test_each_pass_raises_the_likelihood_of_a_longer_text() -> None:
    counts = counted(from_grammar(300, words=20))
    classes = initial_classes(counts, 6)
    values = []
    with ThreadPoolExecutor(2) as threads:
        while exchange(classes, threads, 2):
            assert_counts_are_those_of_the_classes(classes)
            values.append(classes.log_likelihood())
    assert values == sorted(values)
    assert len(values) >= 2
    assert classes.of_words.max() < classes.number


def test_the_classes_do_not_depend_on_the_number_of_threads() -> None:
    counts = counted(from_grammar(300))
    found = []
    for jobs in (1, 3):
        classes = initial_classes(counts, 8)
        with ThreadPoolExecutor(jobs) as threads:
            moved = [exchange(classes, threads, jobs) for _ in range(3)]
        found.append((moved, classes.of_words.tolist()))
    assert found[0] == found[1]


def test_a_check_may_stop_a_pass_where_the_state_is_consistent() -> None:
    counts = counted(from_grammar(100))
    classes = initial_classes(counts, 6)
    calls = []

    def check() -> None:
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as threads, pytest.raises(KeyboardInterrupt):
        exchange(classes, threads, 1, check)
    assert_counts_are_those_of_the_classes(classes)


def test_numbers_beyond_the_table_are_computed() -> None:
    table = n_log_n_table(4)
    assert table[0] == 0.0
    for n in (0, 1, 2, 3, 4, 1000):
        assert n_log_n(n, table) == pytest.approx(n * math.log(max(1, n)))
