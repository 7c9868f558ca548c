"""The training problem of a tagger: a linear chain, or words that are classified one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from egparse.config.sections import TrainConfig
from egparse.evaluation.spans import score_spans
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.setup import Counts, Scaled, Setup, scored, sentence_counts
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import columns_of, compile_templates
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger, forbid_invalid_spans
from egparse.sequences.task import GOLD_THETA, SequenceExamples, prepare_sequence
from egparse.training.columns import build_columns, part_of
from egparse.types import Longs


def entities(sample: Sample, *, bigrams: bool = True) -> Setup:
    """A linear-chain tagger of entities with the tags of the corpus, in IOB2; scored by F1 of spans
    in per cent. Without ``bigrams`` each word learns its tag alone; tags that follow each other are
    valid spans all the same.
    """
    return tagger(sample, "spans", bigrams=bigrams)


def tagger(sample: Sample, layer: str, run: int = 0, **settings: Any) -> Setup:
    """The tags of a layer, by the ``settings`` that take the place of the built-in ones. With a
    ``run`` words choose alone, and an example of the problem is so many words.
    """
    config = TrainConfig(layers=(layer,))
    section = replace(getattr(config, layer), scheme="iob2", **settings)
    columns = build_columns(sample.train, (layer,), replace(config, **{layer: section}))
    usable = {*columns.lexicon.names, *columns.input_layers((layer,))}
    texts = [text for text in section.templates if usable.issuperset(columns_of([text]))]
    words, labels = part_of(sample.train, columns, (layer,)).words, columns.labels[layer].strings
    count, gold = words.n_words, columns.label_numbers(sample.train, layer)
    examples = SequenceExamples(
        words.values, words.starts, gold, all_labels(count, len(labels)), len(labels)
    )
    if run:
        chains = np.append(np.arange(0, count, run), count)
        examples = examples._replace(chosen=np.ones(count, dtype=np.bool_), chains=chains)
    learner, _, snapshot = prepare_sequence(
        examples,
        compile_templates(texts, columns.names, pads=True),
        lambda problem, _: OnlineEG(problem, EGConfig()),
        min_count=section.min_count,
        full_row_min_count=section.full_row_min_count,
        bigrams=section.bigrams,
    )

    def counter(part: Sequence[Sentence]) -> Counts:
        read, correct = part_of(part, columns, (layer,)).words, [getattr(x, layer) for x in part]

        def counts(scale: float) -> Longs:
            model = snapshot(Scaled(scale))
            if not run:
                model = forbid_invalid_spans(model, labels, "iob2")
            chosen = Tagger(model, None, (layer,)).choose(read).tolist()
            tags = [labels[number] for number in chosen]
            if layer == "spans":
                bounds = itertools.pairwise(read.starts.tolist())
                return score_spans(correct, [tags[first:end] for first, end in bounds]).by_sentence
            every = np.array([*itertools.chain.from_iterable(correct)])
            return sentence_counts(np.array(tags) == every, [*map(len, correct)])

        return counts

    return scored(
        learner.problem,
        sample,
        counter(sample.dev),
        counter(sample.test or sample.dev),
        "validation F1 (%)" if layer == "spans" else "validation accuracy (%)",
        GOLD_THETA + float(np.log(len(labels))),
        {"labels": len(labels)},
    )
