"""Texts to learn classes from."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from egparse.classes.counting import PairCounts, TextCounter

WORDS = "abcdef"

runs = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=8)
"""Small texts, with repetitions and empty runs."""


def counted(text: Sequence[Sequence[str]], min_count: int = 1) -> PairCounts:
    """The counts of a text."""
    counter = TextCounter()
    counter.add_runs(text)
    return counter.pair_counts(min_count)


def from_grammar(sentences: int, kinds: int = 6, words: int = 8, seed: int = 1) -> list[list[str]]:
    """Sentences of a class bigram model: words of kind k are called k0, k1, ..., their kinds follow
    each other by random preferences.
    """
    draw = random.Random(seed)
    follows = [[draw.random() ** 6 for _ in range(kinds)] for _ in range(kinds)]
    text = []
    for _ in range(sentences):
        kind = draw.randrange(kinds)
        run = []
        for _ in range(draw.randint(3, 12)):
            run.append(f"{chr(97 + kind)}{min(draw.randrange(words), draw.randrange(words))}")
            kind = draw.choices(range(kinds), follows[kind])[0]
        text.append(run)
    return text
