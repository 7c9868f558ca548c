"""The training problem of an arc-factored dependency parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from egparse.config.sections import ORDER_1, TrainConfig
from egparse.evaluation.scores import attachment
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.sentences import (
    facts_of,
    heads_of,
    tagged,
    without_punctuation,
)
from egparse.experiments.problems.setup import Scaled, Score, Setup, sentence_counts
from egparse.features.word_table import Words
from egparse.fitting.task import Part
from egparse.learners.eg.online import OnlineEG
from egparse.parsing.gold_trees import GoldHeads, crossing_arcs, training_pieces
from egparse.parsing.training import ARC_THETA, ArcParserTask
from egparse.parsing.tree_inference import Trees
from egparse.sentences import Sentence
from egparse.training.columns import build_columns
from egparse.types import Ints, Longs


def parser(
    sample: Sample, *, trees: Trees, bits: int, arc_share: float = 0.0, in_full: bool = False
) -> Setup:
    """An arc-factored parser with the tags of the corpus; scored by correct heads in per cent, of
    the best tree. Scores are those of weights rounded to a byte, as models are stored, unless
    ``in_full``.

    ``arc_share`` as in ``ParserConfig`` (0: every pair of words is an arc, as published). Training
    sentences whose tree is not of the kind asked for are left out: their loss has no lower bound of
    0.

    Raises:
        EgparseError: a sentence without a tree.
    """
    kept = [
        sentence
        for sentence in sample.train
        if trees == "non-projective" or not crossing_arcs(heads_of([sentence])[0])
    ]
    dropped = len(sample.train) - len(kept)
    sample = sample._replace(train=kept)
    heads = heads_of(sample.train)
    single_root = all(int(np.count_nonzero(sentence_heads == 0)) == 1 for sentence_heads in heads)
    config = replace(
        ORDER_1, bits=bits, arc_share=arc_share, single_root=single_root, mbr_scale=0.0
    )
    columns = build_columns(sample.train, ("heads",), TrainConfig(parser=config))
    words = tagged(columns, sample.train, ("heads",))
    part = Part(sample.train, words)
    gold = GoldHeads(heads, np.zeros(0, dtype=np.int32), is_scored=False)
    task = ArcParserTask(
        columns, part, Part((), words), gold, config, trees, seed=1, in_full=in_full
    )
    learner, _, snapshot = task.prepare()
    assert isinstance(learner, OnlineEG)
    problem: Any = learner.problem

    def scorer(part: Sequence[Sentence]) -> Score:
        dev_words, correct = tagged(columns, part, ("heads",)), np.concatenate(heads_of(part))
        return lambda scale: attachment(correct, snapshot(Scaled(scale)).predict(dev_words))

    @cache
    def compared() -> tuple[Words, Ints]:
        part = sample.test or sample.dev
        return tagged(columns, part, ("heads",)), np.concatenate(heads_of(part))

    def outcomes(scale: float) -> Longs:
        words, correct = compared()
        found = snapshot(Scaled(scale)).predict(words)
        return sentence_counts(np.asarray(found) == correct, words.starts[:-1])

    def figures(scale: float) -> Mapping[str, float]:
        words, correct = compared()
        right = np.asarray(snapshot(Scaled(scale)).predict(words)) == correct
        return without_punctuation(sample.test or sample.dev, right)

    lengths = np.maximum(1, np.diff(training_pieces(heads)[:, 1:]).ravel())
    return Setup(
        problem,
        scorer(sample.dev),
        "validation accuracy (% of heads)",
        1,
        ARC_THETA + np.log(lengths),
        {
            **facts_of(sample),
            "arcs": int(problem.part_starts[-1]),
            "trees": trees,
            "single root": single_root,
            "weights": problem.weights.size,
            "training sentences left out": dropped,
        },
        scorer(sample.test) if sample.test else None,
        outcomes,
        figures,
    )
