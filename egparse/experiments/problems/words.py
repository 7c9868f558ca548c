"""Words that are classified one by one: tags of the Brown corpus and chunks of CoNLL-2000 (Huang et
al. 2009, section 4).

The paper does not list its features; here they are attributes of the text around a word, for chunks
also of the tags that the corpus gives, each with the labels that it is seen with. We differ in the
tags of Brown, which are stripped of the marks of headlines, titles, citations, foreign words,
negation and contractions: 92 instead of 472 labels, so that the table S that some learners keep for
all words takes 0.66 GB, not 3.4 GB.

Words do not depend on each other, and an example of the problem is a run of ``RUN`` words: what
learners do for each example beside its words, such as calls of Python, is then no part of their
seconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.evaluation.bootstrap import f1_of
from egparse.evaluation.spans import score_spans
from egparse.experiments.learners.maxent.tron import certified_optimum
from egparse.experiments.problems.samples import Corpus, Sample, sample
from egparse.experiments.problems.sentences import facts_of, tagged
from egparse.experiments.problems.setup import Scaled, Score, Setup, sentence_counts
from egparse.experiments.request import Request
from egparse.features.sequence import NEVER
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger
from egparse.sequences.task import GOLD_THETA, SequenceExamples, prepare_sequence
from egparse.training.columns import build_columns
from egparse.types import Longs

BROWN = "brown/brown.tsv"
CHUNKS = Corpus("conll2000/train.txt", test="conll2000/test.txt")
RUN = 500
"""Words of an example."""

TEMPLATES = (
    "bias", "form[0]", "lower[0]", "shape[0]", "prefix1[0]", "prefix2[0]", "prefix3[0]",
    "prefix4[0]", "suffix1[0]", "suffix2[0]", "suffix3[0]", "suffix4[0]", "form[-2]", "form[-1]",
    "form[1]", "form[2]",
)  # fmt: skip
TAG_TEMPLATES = (
    "{0}[-2]", "{0}[-1]", "{0}[0]", "{0}[1]", "{0}[2]", "{0}[-2]|{0}[-1]", "{0}[-1]|{0}[0]",
    "{0}[0]|{0}[1]", "{0}[1]|{0}[2]",
)  # fmt: skip
"""Of a layer of tags that is given."""

_GAP = 1e-5
_QUICK_SENTENCES = (60, 40)
_QUICK_WORDS = 1500
_MARKS = re.compile(r"(-(tl|hl|nc))+$")


def tagging(request: Request, seed: int, n_words: int = 0) -> Setup:
    """Part-of-speech tags: Brown, split by ``seed``, all of it or about ``n_words`` words; or for a
    quick run without it the sample treebank. Scored by accuracy in per cent.
    """
    path = request.file(BROWN)
    if path is None:
        small = sample(replace(request, data=None), CHUNKS, _QUICK_SENTENCES)
        return words_of(small, "upos")
    sentences = read_brown(path)
    words = _QUICK_WORDS if request.quick else n_words or sum(map(len, sentences))
    return words_of(split_brown(sentences, words, seed), "xpos")


def chunking(request: Request, seed: int) -> Setup:
    """Chunks in IOB2, given the tags of the corpus; entities where a quick run has no chunks.
    Scored by F1 in per cent.
    """
    found = sample(request, CHUNKS, _QUICK_SENTENCES)
    return words_of(found, "spans", "xpos" if found.train[0].xpos else "upos")


def words_of(found: Sample, layer: str, given: str = "") -> Setup:
    """The problem of a layer, ``spans`` or one of tags, of which every word has one, with the tags
    of another that is ``given``.
    """
    texts = (*TEMPLATES, *(text.format(given) for text in TAG_TEMPLATES if given))
    config = TrainConfig(layers=(layer,))
    section = replace(getattr(config, layer), templates=texts)
    if layer == "spans":
        section = replace(section, scheme="iob2")
    columns = build_columns(found.train, (layer,), replace(config, **{layer: section}))
    words, labels = tagged(columns, found.train, (layer,)), columns.labels[layer]
    count = len(words.form_ids)
    learner, _, snapshot = prepare_sequence(
        SequenceExamples(
            words.values,
            words.starts,
            columns.label_numbers(found.train, layer),
            all_labels(count, len(labels)),
            len(labels),
            chosen=np.ones(count, dtype=np.bool_),
            chains=np.append(np.arange(0, count, RUN), count),
        ),
        compile_templates(texts, columns.names, pads=True),
        lambda problem, _: OnlineEG(problem, EGConfig()),
        min_count=1,
        full_row_min_count=NEVER,
    )
    problem = learner.problem

    def counter(part: Sequence[Sentence]) -> Callable[[float], Longs]:
        """(correct, gold, system) of each sentence, as a function of the scale."""
        read, correct = tagged(columns, part, (layer,)), [getattr(own, layer) for own in part]
        every = np.array([tag for own in correct for tag in own])

        def counts(scale: float) -> Longs:
            chosen = Tagger(snapshot(Scaled(scale)), None, (layer,)).choose(read)
            tags = [labels.strings[number] for number in chosen.tolist()]
            if layer != "spans":
                return sentence_counts(np.array(tags) == every, read.starts[:-1])
            bounds = itertools.pairwise(read.starts.tolist())
            return score_spans(correct, [tags[first:end] for first, end in bounds]).by_sentence

        return counts

    def scorer(counts: Callable[[float], Longs]) -> Score:
        """F1 in per cent, which is the accuracy where every word counts."""
        return lambda scale: float(f1_of(counts(scale).sum(axis=0, keepdims=True).astype(float))[0])

    of_test = counter(found.test)

    @cache
    def optimum(c: float) -> float:
        return certified_optimum(problem, 1 / c, _GAP)[1]

    return Setup(
        problem,
        scorer(counter(found.dev)),
        "validation F1 (%)" if layer == "spans" else "validation accuracy (%)",
        1,
        GOLD_THETA + float(np.log(len(labels))),
        {
            **facts_of(found),
            "labels": len(labels),
            "features": len(problem.design().pair_labels),
        },
        scorer(of_test),
        of_test,
        optimum=optimum,
    )


def read_brown(path: Path) -> list[Sentence]:
    """Sentences of ``word TAB tag`` lines with an empty line between them; the tags, reduced, are
    ``xpos``.

    Raises:
        EgparseError: a line of another form.
    """
    found, rows = [], []
    with path.open(encoding="utf-8") as lines:
        for place, line in enumerate(itertools.chain(lines, [""]), 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 2 and all(cells):
                rows.append((cells[0], reduced(cells[1])))
            elif cells != [""]:
                raise EgparseError(f"{path}:{place}: expected a word and a tag, got {line!r}")
            elif rows:
                forms, tags = map(list, zip(*rows, strict=True))
                found.append(Sentence(forms=forms, xpos=tags))
                rows = []
    return found


def reduced(tag: str) -> str:
    """A tag of Brown without the marks of headlines, titles, citations (-hl, -tl, -nc), foreign
    words (fw-), negation (*) and after a +.
    """
    first = _MARKS.sub("", tag).removeprefix("fw-").partition("+")[0]
    return first.rstrip("*") or first or tag


def split_brown(sentences: Sequence[Sentence], n_words: int, seed: int) -> Sample:
    """Sentences drawn at random with about ``n_words`` words, 4/5 of them for training, of which
    the last tenth is the validation part, and 1/5 for testing.
    """
    order = np.random.default_rng(seed).permutation(len(sentences))
    ends = np.cumsum([len(sentences[place]) for place in order])
    drawn = [sentences[place] for place in order[: np.searchsorted(ends, n_words) + 1]]
    test = len(drawn) * 4 // 5
    dev = test * 9 // 10
    part = "all" if len(drawn) == len(sentences) else f"{len(drawn)} of {len(sentences)} sentences"
    return Sample(f"{BROWN} ({part}, reduced tags)", drawn[:dev], drawn[dev:test], drawn[test:])
