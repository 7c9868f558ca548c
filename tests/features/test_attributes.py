"""Attributes of some words, from those of all words."""

from __future__ import annotations

import numpy as np
import pytest

from egparse.features.index import ABSENT, Attributes, KeyIndex
from egparse.sequences.model import build_index


@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_selected_attributes_are_those_of_an_index_of_these_words(
    seed: int, min_count: int
) -> None:
    generator = np.random.default_rng(seed)
    keys = generator.integers(0, 12, (40, 3)).astype(np.uint64)  # 0 is no key
    # keys of a later template are greater
    keys[keys > 0] += (np.arange(3, dtype=np.uint64) * np.uint64(100) + np.zeros_like(keys))[
        keys > 0
    ]
    every = build_index(keys, 1)
    words = np.flatnonzero(generator.random(40) < 0.5)
    found = Attributes(every, every.numbers(keys)).select(words, min_count)
    alone = build_index(keys[words], min_count)
    np.testing.assert_array_equal(found.key_index.keys, alone.keys)
    np.testing.assert_array_equal(found.numbers, alone.numbers(keys[words]))


def test_no_words_have_no_attributes() -> None:
    every = KeyIndex(np.array([3, 5], dtype=np.uint64))
    known = Attributes(every, np.array([[0, 1], [1, ABSENT]], dtype=np.int32))
    found = known.select(np.empty(0, dtype=np.int64), 1)
    assert len(found.key_index) == 0
    assert found.numbers.shape == (0, 2)
