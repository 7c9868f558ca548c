"""Sentences of any length get a tree, in linear time and memory."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from itertools import chain, cycle, islice

import numpy as np
import numpy.typing as npt
import pytest
from sample_treebank import quick_model, sample, with_predicted_tags

from egparse.features.word_table import Words
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.gold_trees import crossing_arcs
from egparse.parsing.long_sentences import (
    LONGEST,
    MARGIN,
    WINDOW,
    LongSentenceWarning,
    parse_in_pieces,
)
from egparse.sentences import Sentence

Ints = npt.NDArray[np.int32]


def forms(count: int) -> list[str]:
    """The words of the development sentences, over and over."""
    return list(islice(chain.from_iterable(s.forms for s in cycle(sample("dev"))), count))


def parser_and_words(*lengths: int) -> tuple[ArcParser, Words]:
    words = with_predicted_tags(quick_model(), [forms(length) for length in lengths])
    return quick_model().components["parser"], words


def reach_root(heads: Ints) -> bool:
    """Whether all words descend from the root, by doubling: 2^17 steps are more than any chain here
    needs.
    """
    above = np.concatenate([[0], heads])
    for _ in range(17):
        above = above[above]
    return bool((above == 0).all())


def random_trees(seed: int) -> tuple[list[tuple[int, int]], object]:
    """A parser of chance, with right and left heads, that notes down what it is asked for."""
    rng = np.random.default_rng(seed)
    asked: list[tuple[int, int]] = []

    def parse(first: int, end: int) -> Ints:
        asked.append((first, end))
        n = end - first
        heads = np.zeros(n, dtype=np.int32)
        order = rng.permutation(n)
        for place, word in enumerate(order[1:], 1):
            heads[word] = order[rng.integers(place)] + 1
        return heads

    return asked, parse


@pytest.mark.parametrize("n", [40, 41, 60, 79, 80, 81, 1000])
@pytest.mark.parametrize("single_root", [True, False])
def test_pieces_of_any_trees_make_a_tree(n: int, single_root: bool) -> None:
    asked, parse = random_trees(n)
    with pytest.warns(LongSentenceWarning):
        heads = parse_in_pieces(n, parse, single_root=single_root, window=40)  # type: ignore[arg-type]
    assert reach_root(heads)
    assert (heads == 0).sum() == 1 if single_root else (heads == 0).sum() >= n // 40
    assert max(end - first for first, end in asked) <= 40
    assert len(asked) <= 2 * n / (40 // 2) + 1


def test_a_piece_ends_where_no_arc_crosses() -> None:
    """Sentences of 13 words, each word on the first of its sentence: no sentence is cut."""
    n, length = 520, 13

    def parse(first: int, end: int) -> Ints:
        words = np.arange(first, end)
        heads = np.where(words % length, words - words % length, first) - first + 1
        heads[heads < 1] = 1  # its sentence began before the window
        heads[0] = 0
        return heads.astype(np.int32)

    with pytest.warns(
        LongSentenceWarning, match=f"more than {LONGEST} words .* pieces of at most 60"
    ):
        heads = parse_in_pieces(n, parse, single_root=True, window=60)
    inside = np.arange(n) % length > 0
    first_of_own = np.arange(n) - np.arange(n) % length + 1
    assert heads[inside].tolist() == first_of_own[inside].tolist()
    assert reach_root(heads)
    assert (heads == 0).sum() == 1


def test_a_window_has_room_for_its_margin() -> None:
    with pytest.raises(ValueError, match=f"at least {4 * MARGIN} words, got 3"):
        parse_in_pieces(
            9, lambda first, end: np.zeros(end - first, dtype=np.int32), single_root=True, window=3
        )


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize("mbr_scale", [0.0, 1.5])
@pytest.mark.parametrize("single_root", [True, False])
def test_a_long_sentence_has_a_tree(trees: str, mbr_scale: float, single_root: bool) -> None:
    parser, words = parser_and_words(2000)
    parser = replace(parser, trees=trees, mbr_scale=mbr_scale, single_root=single_root)  # type: ignore[arg-type]
    with pytest.warns(LongSentenceWarning):
        heads = parser.predict(words)
    assert reach_root(heads)
    assert (heads == 0).sum() == 1 or not single_root
    if trees == "projective":
        assert crossing_arcs(heads) == 0


def test_sentences_up_to_the_limit_are_parsed_whole_and_as_ever() -> None:
    parser, words = parser_and_words(LONGEST, 7, LONGEST + 1, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = [parser.predict(parser_and_words(length)[1]) for length in (LONGEST, 7, 12)]
    with pytest.warns(LongSentenceWarning) as said:
        heads = parser.predict(words)
    assert len(said) == 1
    parts = np.split(heads, words.starts[1:-1])
    assert [part.tolist() for part in (parts[0], parts[1], parts[3])] == [
        own.tolist() for own in alone
    ]


@pytest.mark.compiled_only
def test_twenty_thousand_words_cost_no_squares() -> None:
    model = quick_model()
    sentence = Sentence(forms(20_000))
    list(model.annotate([Sentence(forms(1))]))  # loads kernels
    tracemalloc.start()
    with pytest.warns(LongSentenceWarning):
        (annotated,) = model.annotate([sentence])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 120e6  # a byte for each pair of words would be 4e8
    heads = np.array(annotated.heads, dtype=np.int32)
    assert reach_root(heads)
    assert (heads == 0).sum() == 1
    assert 0 < WINDOW <= LONGEST < 2**15
