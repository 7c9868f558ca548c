"""The training problem of a linear-chain tagger of entities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.evaluation.spans import score_spans
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.sentences import facts_of, tagged
from egparse.experiments.problems.setup import Scaled, Score, Setup
from egparse.features.default_templates import SPAN_TEMPLATES
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import columns_of, compile_templates
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger, forbid_invalid_spans
from egparse.sequences.task import GOLD_THETA as LABEL_THETA
from egparse.sequences.task import SequenceExamples, prepare_sequence
from egparse.training.columns import build_columns
from egparse.types import Longs


def entities(sample: Sample, *, bigrams: bool = True) -> Setup:
    """A linear-chain tagger of entities with the tags of the corpus, in IOB2; scored by F1 of spans
    in per cent. Without ``bigrams`` each word learns its tag alone; tags that follow each other are
    valid spans all the same.

    Raises:
        EgparseError: a sentence whose entities are not annotated.
    """
    for sentence in (*sample.train, *sample.dev, *sample.test):
        if not sentence.spans:
            raise EgparseError(
                f"{sample.name}: expected sentences with entities, got "
                f"{' '.join(sentence.forms[:8])}"
            )
    config = TrainConfig(layers=("spans",), spans=replace(TrainConfig().spans, scheme="iob2"))
    columns = build_columns(sample.train, ("spans",), config)
    usable = {*columns.lexicon.names, *columns.input_layers(("spans",))}
    texts = [text for text in SPAN_TEMPLATES if usable.issuperset(columns_of([text]))]
    words, labels = tagged(columns, sample.train, ("spans",)), columns.labels["spans"]
    candidates = all_labels(len(words.form_ids), len(labels))
    gold = columns.label_numbers(sample.train, "spans")
    learner, _, snapshot = prepare_sequence(
        SequenceExamples(words.values, words.starts, gold, candidates, len(labels)),
        compile_templates(texts, columns.names, pads=True),
        lambda problem, _: OnlineEG(problem, EGConfig()),
        min_count=config.spans.min_count,
        full_row_min_count=config.spans.full_row_min_count,
        bigrams=bigrams,
    )
    assert isinstance(learner, OnlineEG)
    problem: Any = learner.problem

    def tagger(part: Sequence[Sentence]) -> Callable[[float], list[list[str]]]:
        words = tagged(columns, part, ("spans",))

        def tags(scale: float) -> list[list[str]]:
            model = forbid_invalid_spans(snapshot(Scaled(scale)), labels.strings, "iob2")
            numbers = Tagger(model, None, ("spans",)).choose(words).tolist()
            names = [labels.strings[number] for number in numbers]
            return [names[first:end] for first, end in itertools.pairwise(words.starts.tolist())]

        return tags

    def scorer(part: Sequence[Sentence]) -> Score:
        tags, correct = tagger(part), [list(sentence.spans) for sentence in part]
        return lambda scale: float(score_spans(correct, tags(scale)).micro.f1)

    @cache
    def compared() -> tuple[Callable[[float], list[list[str]]], list[list[str]]]:
        part = sample.test or sample.dev
        return tagger(part), [list(sentence.spans) for sentence in part]

    def outcomes(scale: float) -> Longs:
        tags, correct = compared()
        return score_spans(correct, tags(scale)).by_sentence

    facts = {
        **facts_of(sample),
        "labels": len(labels),
        "weights": sum(array.size for array in problem.vectors()),
    }
    theta = LABEL_THETA + float(np.log(len(labels)))
    return Setup(
        problem,
        scorer(sample.dev),
        "validation F1 (%)",
        1,
        theta,
        facts,
        scorer(sample.test) if sample.test else None,
        outcomes,
    )
