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
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from egparse.experiments.learners.maxent.tron import certified_optimum
from egparse.experiments.problems.names import tagger
from egparse.experiments.problems.samples import Corpus, Sample, sample
from egparse.experiments.problems.setup import Setup
from egparse.experiments.request import Request
from egparse.features.sequence import NEVER
from egparse.sentences import Sentence

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
    quick run without it generated sentences. Scored by accuracy in per cent.
    """
    path = request.file(BROWN)
    if path is None:
        return words_of(sample(replace(request, data=None), CHUNKS, _QUICK_SENTENCES), "upos")
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
    own = {"templates": texts, "min_count": 1, "full_row_min_count": NEVER, "bigrams": False}
    setup = tagger(found, layer, RUN, **own)
    return setup._replace(optimum=cache(lambda c: certified_optimum(setup.problem, 1 / c, _GAP)[1]))


def read_brown(path: Path) -> list[Sentence]:
    """Sentences of ``word TAB tag`` lines with an empty line between them; the tags, reduced, are
    ``xpos``.
    """
    found = []
    with path.open(encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        for is_sentence, words in itertools.groupby(rows, key=lambda row: row != [""]):
            if is_sentence:
                forms, tags = zip(*words, strict=True)
                found.append(Sentence(forms=list(forms), xpos=[*map(reduced, tags)]))
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
