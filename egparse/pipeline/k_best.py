"""Sentences with their most probable trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from egparse.features.word_table import Words
from egparse.layers import LEMMAS
from egparse.parsing.arc_parser import ScoredTree
from egparse.pipeline.annotate import Prediction, predict_tags
from egparse.pipeline.text import given_numbers, kept_tags, label_strings, put_back
from egparse.sentences import Sentence

if TYPE_CHECKING:
    from egparse.pipeline.model import Model


class ScoredSentence(NamedTuple):
    """A sentence with one of its trees, and the log probability of that tree in nats."""

    sentence: Sentence
    log_probability: float


def k_best(
    model: Model, batches: Iterable[Sequence[Sentence]], k: int, gold_tags: bool
) -> Iterator[list[ScoredSentence]]:
    """See ``Model.k_best``."""
    assert model.parser is not None
    for batch in batches:
        words = model.columns.words([sentence.forms for sentence in batch])
        tags = kept_tags(batch, model.layers if gold_tags else ())
        given = given_numbers(batch, model.columns, tags, model.layers)
        fixed = model.fixed_by_exceptions(batch, given)
        words, prediction = predict_tags(model, words, model.layers, given, (), fixed)
        strings = label_strings(model.columns.labels, prediction, tags, fixed)
        if model.lemmatiser is not None:
            strings[LEMMAS] = model.lemmatiser.predict(words, fixed and fixed.lemmas)
        trees = model.parser.k_best(words, k)
        by_rank = [
            list(_with_trees(model, batch, words, strings, trees, rank))
            for rank in range(max(map(len, trees)))
        ]
        for i, ranked in enumerate(trees):
            yield [
                ScoredSentence(
                    by_rank[rank][i],
                    tree.log_probability if "heads" in model.probabilistic else np.nan,
                )
                for rank, tree in enumerate(ranked)
            ]


def _with_trees(
    model: Model,
    batch: Sequence[Sentence],
    words: Words,
    tags: Mapping[str, list[str]],
    trees: Sequence[Sequence[ScoredTree]],
    rank: int,
) -> Iterator[Sentence]:
    """The sentences with tags and their trees of a rank; a sentence with fewer than ``rank``
    trees repeats its last one.
    """
    heads = np.zeros(words.n_words, dtype=np.int32)
    for ranked, first, end in zip(trees, words.starts, words.starts[1:], strict=False):
        if ranked:
            heads[first:end] = ranked[min(rank, len(ranked) - 1)].heads
    values = {"heads": heads}
    if model.labeller is not None:
        values["deprels"] = model.labeller.predict(words, heads, model.columns)
    prediction = Prediction(values, {})
    strings = {**tags, **label_strings(model.columns.labels, prediction, {}, None)}
    return put_back(batch, words, strings, prediction)
