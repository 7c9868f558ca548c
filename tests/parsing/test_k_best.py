"""The most probable trees of a sentence: valid, distinct, in order, and with the probabilities of
the model's distribution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles.trees import all_trees, is_projective, is_single_rooted, is_tree
from sample_treebank import (
    SECOND_ORDER,
    changed,
    quick,
    quick_model,
    sample,
    without,
)

from egparse.errors import EgparseError
from egparse.features.word_table import Words
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.long_sentences import LONGEST
from egparse.parsing.parser import ScoredTree
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.run import train

TINY = ('layers=["heads"]', "hold_out=0", *SECOND_ORDER)
ALL = 10_000
KINDS = pytest.mark.parametrize(
    "kind",
    [
        "arcs",
        "arcs crossing",
        "pairs",
        pytest.param("pairs loopy", marks=pytest.mark.nightly),  # kernels of its own: half a minute
        "pairs crossing",
    ],
)


@cache
def model_of(kind: str) -> Model:
    if kind.startswith("arcs"):
        return quick_model()
    options = {
        "pairs loopy": ("parser.inference=loopy",),
        "pairs crossing": ("parser.trees=non-projective",),
    }
    return train(sample("train")[:40], None, quick(*TINY, *options.get(kind, ()))).model


def parser_of(kind: str) -> ArcParser | SecondOrderParser:
    parser = model_of(kind).components["parser"]
    assert parser is not None
    return replace(parser, trees="non-projective") if kind == "arcs crossing" else parser


def words_of(kind: str, sentences: Sequence[Sentence]) -> Words:
    model = model_of(kind)
    words = model.columns.words([sentence.forms for sentence in sentences])
    return model.columns.with_input(words, sentences, predicted=())


def stretches(length: int, count: int) -> list[Sentence]:
    """Sentences of the first words of others."""
    return [
        Sentence(
            own.forms[:length],
            upos=own.upos[:length],
            xpos=own.xpos[:length],
            feats=own.feats[:length],
        )
        for own in sample("dev")[:count]
        if len(own) >= length
    ]


def total(trees: Sequence[ScoredTree]) -> float:
    return math.fsum(math.exp(tree.log_probability) for tree in trees)


@KINDS
def test_trees_are_valid_distinct_and_in_order(kind: str) -> None:
    words = words_of(kind, sample("dev")[:15])
    for trees, n in zip(parser_of(kind).k_best(words, 7), np.diff(words.starts), strict=True):
        assert 1 <= len(trees) <= 7
        assert len({tuple(tree.heads) for tree in trees}) == len(trees)
        assert all(a.log_probability >= b.log_probability for a, b in itertools.pairwise(trees))
        assert total(trees) <= 1.0 + 1e-9
        for tree in trees:
            assert tree.heads.shape == (n,)
            assert tree.heads.dtype == np.int32
            whole = (-1, *tree.heads.tolist())
            assert is_tree(whole)
            assert is_single_rooted(whole)
            assert is_projective(whole) or "crossing" in kind


@KINDS
@pytest.mark.parametrize("length", [2, 3])
def test_all_trees_of_a_short_sentence_have_all_probability(kind: str, length: int) -> None:
    words = words_of(kind, stretches(length, 10))
    parser = parser_of(kind)
    for trees in parser.k_best(words, ALL):
        assert 1 <= len(trees) <= len(all_trees(length, True, "crossing" not in kind))
        assert total(trees) == pytest.approx(1.0, abs=1e-6)
    told = parser.predict_with_probabilities(words)
    for i, trees in enumerate(parser.k_best(words, ALL)):
        heads = told.heads[words.starts[i] : words.starts[i + 1]]
        of_arcs = sum(math.exp(tree.log_probability) * (tree.heads == heads) for tree in trees)
        found = told.probabilities[words.starts[i] : words.starts[i + 1]]
        np.testing.assert_allclose(
            found, of_arcs, atol=0.1 if kind in ("pairs loopy", "pairs crossing") else 1e-6
        )


@KINDS
def test_the_first_tree_is_the_one_that_a_great_scale_chooses(kind: str) -> None:
    words = words_of(kind, sample("dev")[:15])
    parser = replace(parser_of(kind), mbr_scale=30.0, temperature=1 / 30)
    heads = parser.predict(words)
    agree = []
    for i, trees in enumerate(parser.k_best(words, 3)):
        agree.extend(trees[0].heads == heads[words.starts[i] : words.starts[i + 1]])
    # messages that do not settle are no guide to the best tree
    assert np.mean(agree) > (0.75 if kind in ("pairs loopy", "pairs crossing") else 0.97)


@KINDS
def test_fewer_trees_are_the_first_of_more(kind: str) -> None:
    words = words_of(kind, sample("dev")[:8])
    parser = parser_of(kind)
    for few, many in zip(parser.k_best(words, 1), parser.k_best(words, 6), strict=True):
        if kind != "pairs crossing":  # there, more trees considered may show a better one
            np.testing.assert_array_equal(few[0].heads, many[0].heads)
        assert few[0].log_probability <= many[0].log_probability + 1e-9


def test_the_best_tree_is_that_of_prediction_by_score() -> None:
    words = words_of("arcs", sample("dev"))
    parser = parser_of("arcs")
    heads = np.concatenate([trees[0].heads for trees in parser.k_best(words, 2)])
    np.testing.assert_array_equal(heads, replace(parser, mbr_scale=0.0).predict(words))


def test_temperature_flattens_and_keeps_the_order() -> None:
    words = words_of("arcs", sample("dev")[:8])
    parser = parser_of("arcs")
    cold, hot = (replace(parser, temperature=own).k_best(words, 4) for own in (1.0, 4.0))
    for sure, unsure in zip(cold, hot, strict=True):
        assert sure[0].log_probability >= unsure[0].log_probability
        if len(sure) > 1:
            drops = [own[0].log_probability - own[1].log_probability for own in (sure, unsure)]
            assert drops[1] == pytest.approx(drops[0] / 4.0, abs=1e-7)


@KINDS
def test_faults_and_sentences_without_words(kind: str) -> None:
    parser = parser_of(kind)
    words = words_of(kind, sample("dev")[:1])
    with pytest.raises(ValueError, match="expected k >= 1, got 0"):
        parser.k_best(words, 0)
    long = Sentence(("word",) * (LONGEST + 1))
    with pytest.raises(EgparseError, match=f"at most {LONGEST} words, got one of {LONGEST + 1}"):
        parser.k_best(words_of(kind, [long]), 2)
    [[only]] = parser.k_best(words_of(kind, [Sentence(())]), 2)
    assert only.heads.shape == (0,)
    assert only.log_probability == 0.0


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("gold_tags", [False, True])
def test_a_model_gives_sentences_with_trees_and_labels(gold_tags: bool) -> None:
    model = quick_model()
    sharp = changed(model, replace(parser_of("arcs"), mbr_scale=0.0))
    annotated = list(sharp.annotate(sample("dev"), gold_tags=gold_tags))
    listed = list(sharp.k_best(sample("dev"), 3, gold_tags=gold_tags))
    assert len(listed) == len(annotated)
    assert [own[0].sentence for own in listed] == annotated
    assert any(len(own) == 3 for own in listed)
    for own in listed:
        assert len({scored.sentence.heads for scored in own}) == len(own)
        for scored in own:
            assert len(scored.sentence.deprels) == len(scored.sentence)
            assert scored.log_probability <= 0.0
            roots = [head == 0 for head in scored.sentence.heads]
            assert [label == "root" for label in scored.sentence.deprels] == roots
    assert list(model.k_best([], 3)) == []


def test_the_models_of_trees_alone_and_of_no_trees() -> None:
    [own] = model_of("pairs").k_best(sample("dev")[:1], 2, gold_tags=True)
    assert [scored.log_probability for scored in own] == sorted(
        (scored.log_probability for scored in own), reverse=True
    )
    with pytest.raises(EgparseError, match="expected a model with a parser, got one of upos"):
        next(without(quick_model(), "parser", "labeller").k_best(sample("dev"), 2))


def test_scores_of_max_margin_are_no_probabilities() -> None:
    config = quick(
        'layers=["heads"]', "parser.loss=max-margin", "parser.stop.iterations=1", "hold_out=0"
    )
    model = train(sample("train")[:20], None, config).model
    assert model.components["parser"].mbr_scale == 0.0
    [own] = model.k_best(sample("dev")[:1], 2)
    assert len(own) == 2
    assert all(math.isnan(scored.log_probability) for scored in own)
