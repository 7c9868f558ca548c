"""Parsers learn long sentences in pieces, and all others as they are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sample_treebank import SECOND_ORDER, quick, sample

from egparse.parsing import training
from egparse.parsing.candidates import NO_LABEL
from egparse.parsing.gold_trees import (
    LONGEST_LEARNED,
    choose_trees,
    crossing_arcs,
    heads_of_pieces,
    ranks_of_pieces,
    training_pieces,
    values_of_pieces,
    warn_of_long,
)
from egparse.parsing.long_sentences import WINDOW, LongSentenceWarning
from egparse.sentences import MISSING_HEAD, Sentence, Source
from egparse.training.run import train
from egparse.types import Ints


def projective_tree(n: int, seed: int) -> Ints:
    """A random projective tree with one root."""
    rng = np.random.default_rng(seed)
    heads = np.zeros(n, dtype=np.int32)
    spans = [(0, n, 0)]
    while spans:
        first, end, head = spans.pop()
        if first < end:
            word = int(rng.integers(first, end))
            heads[word] = head
            spans += [(first, word, word + 1), (word + 1, end, word + 1)]
    return heads


def joined(count: int) -> Sentence:
    """At least ``count`` words: sentences side by side, their roots below the first one's root."""
    columns: dict[str, list[Any]] = {}
    root = 0
    for sentence in sample("train"):
        begin = len(columns.get("forms", ()))
        if begin >= count:
            break
        own = [head + begin if head else root for head in sentence.heads]
        root = root or own.index(0) + 1
        values = {"heads": own, "deprels": sentence.deprels, "upos": sentence.upos}
        for name, column in {"forms": sentence.forms, **values}.items():
            columns.setdefault(name, []).extend(column)
    return Sentence(
        **columns, source=Source("corpus.conllu", 17, ("1",), [0] * len(columns["forms"]))
    )


def pieces_of(heads: Ints, single_root: bool = True) -> list[tuple[slice, Ints]]:
    pieces = training_pieces([heads])
    trees = heads_of_pieces(pieces, [heads], single_root)
    return [(slice(*one[1:]), tree) for one, tree in zip(pieces.tolist(), trees, strict=True)]


def test_sentences_up_to_the_limit_are_learned_whole() -> None:
    heads = [projective_tree(n, n) for n in (LONGEST_LEARNED, 1, 30)]
    values = [np.arange(3 * (len(own) + 1)).reshape(-1, 3) for own in heads]
    pieces = training_pieces(heads)
    assert pieces.tolist() == [[0, 0, LONGEST_LEARNED], [1, 0, 1], [2, 0, 30]]
    assert all(map(lambda new, old: new is old, heads_of_pieces(pieces, heads, True), heads))
    assert all(map(lambda new, old: new is old, values_of_pieces(pieces, values), values))
    assert all(map(lambda new, old: new is old, ranks_of_pieces(pieces, heads, heads), heads))


def test_sentences_without_all_heads_are_learned_whole() -> None:
    heads = projective_tree(LONGEST_LEARNED + 50, 3)
    heads[7] = MISSING_HEAD
    assert training_pieces([heads]).tolist() == [[0, 0, len(heads)]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long([Sentence(("word",) * len(heads), heads=tuple(heads.tolist()))])


@pytest.mark.parametrize("seed", range(5))
def test_inner_arcs_stay_and_each_piece_is_a_projective_tree(seed: int) -> None:
    heads = projective_tree(LONGEST_LEARNED + 1 + 150 * seed, seed)
    found = pieces_of(heads)
    assert [piece.start for piece, _ in found] == [0, *(piece.stop for piece, _ in found[:-1])]
    assert found[-1][0].stop == len(heads)
    for piece, tree in found:
        assert 0 < len(tree) == piece.stop - piece.start <= WINDOW
        own = heads[piece]
        is_inside = (own > piece.start) & (own <= piece.stop)
        assert (tree[is_inside] == own[is_inside] - piece.start).all()
        assert (tree == 0).sum() == 1
        assert not (own == 0).any() or tree[np.argmin(own)] == 0
        assert crossing_arcs(tree) == 0
        other = int(np.argmin(tree)) + 1
        assert (tree[~is_inside & (tree > 0)] == other).all()


def test_with_several_roots_words_with_outer_heads_are_roots() -> None:
    heads = projective_tree(900, 1)
    for piece, tree in pieces_of(heads, single_root=False):
        own = heads[piece]
        assert ((tree == 0) == ~((own > piece.start) & (own <= piece.stop))).all()


def test_sentences_that_were_not_split_stay_whole() -> None:
    """Pieces end where sentences do."""
    sentence = joined(700)
    starts = {0}
    for one in sample("train"):
        starts.add(max(starts) + len(one))
    heads = np.array(sentence.heads, dtype=np.int32)
    pieces = training_pieces([heads])
    assert len(pieces) > 3
    assert set(pieces[:, 1].tolist()) <= starts


def test_values_and_labels_of_pieces() -> None:
    heads = projective_tree(700, 3)
    values = np.stack([np.arange(701), np.arange(701) + 1000], axis=1)
    ranks = np.arange(700) % 7
    pieces = training_pieces([heads])
    cut = values_of_pieces(pieces, [values])
    labels = ranks_of_pieces(pieces, [heads], [ranks])
    for (_, first, end), rows, own in zip(pieces.tolist(), cut, labels, strict=True):
        words = np.arange(first, end)
        assert rows.tolist() == values[[0, *(words + 1)]].tolist()
        inside = (heads[words] > first) & (heads[words] <= end) | (heads[words] == 0)
        assert own.tolist() == np.where(inside, ranks[words], NO_LABEL).tolist()


def test_the_corpus_decides_on_crossing_arcs_in_linear_time() -> None:
    """A hundred thousand words below one: 5 * 10^9 steps if each arc were followed whole."""
    flat = np.ones(100_000, dtype=np.int32)
    flat[0] = 0
    assert choose_trees([flat], quick().parser) == "projective"


def test_cutting_is_told_with_place_and_length() -> None:
    sentence = joined(600)
    assert sentence.source is not None
    with pytest.warns(LongSentenceWarning) as said:
        warn_of_long([sample("train")[0], sentence, joined(550)])
    assert [str(one.message) for one in said] == [
        f"the parser learns 2 sentences of more than {LONGEST_LEARNED} words in pieces of at most "
        f"{WINDOW}: the longest has {len(sentence)} words (corpus.conllu:17)"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long(sample("train")[:5])


@pytest.mark.parametrize("order", ["parser.order=1", "second"])
@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_no_problem_has_a_sentence_of_more_words(
    order: str, trees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problems that learners see hold pieces: their sizes bound time and memory of a pass."""
    sizes: dict[str, list[int]] = {}

    def noting(name: str, problem: type) -> Any:
        def made(**arguments: Any) -> Any:
            sizes[name] = [len(heads) for heads in arguments["heads"]]
            return problem(**arguments)

        return made

    for name in ("TreeProblem", "SecondOrderProblem"):
        monkeypatch.setattr(training, name, noting(name, getattr(training, name)))
    settings = SECOND_ORDER if order == "second" else (order,)
    config = quick(
        "hold_out=0",
        'layers=["upos", "heads", "deprels"]',
        f'parser.trees="{trees}"',
        *settings,
        *(f"{task}.stop.iterations=1" for task in ("upos", "parser", "labeller")),
        *(("pruner.stop.iterations=1",) if order == "second" else ()),
    )
    short = [replace(one, xpos=(), feats=(), spans=()) for one in sample("train")[:5]]
    long = joined(1200)
    with pytest.warns(LongSentenceWarning, match="the parser learns 1 sentence"):
        model = train([*short, long], None, config).model
    assert "parser" in model.components
    assert len(sizes) == (2 if order == "second" else 1)
    for own in sizes.values():
        assert own[:5] == [len(sentence) for sentence in short]
        assert max(own[5:]) <= WINDOW
        assert sum(own[5:]) == len(long)
