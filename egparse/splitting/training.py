"""Training a sentence splitter: paragraphs from a corpus, and a CRF fitted to where their sentences
start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from egparse.errors import ConfigError
from egparse.evaluation.calibration import fit_temperature
from egparse.evaluation.scores import Score
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.fitting.choose_learner import build_learner, fits
from egparse.fitting.config import SplitterConfig
from egparse.fitting.optimise import Best
from egparse.fitting.progress import Listener
from egparse.sentences import Sentence
from egparse.splitting.columns import COLUMNS, Paragraph, paragraph_columns
from egparse.splitting.splitter import N_LABELS, SPLITTER, Splitter
from egparse.tagging.fit_sequence import SequenceExamples, SequenceSettings, fit
from egparse.tagging.sequence_model import SequenceModel, without_small_weights
from egparse.types import Floats, Mask

MIN_SENTENCES = 30
"""Fewer sentences show too little of what is between two of them."""

_MARKS = ("# newpar", "# newdoc")
_RUNNING_TEXT = ("conllu", "conllx")
_MULTIWORD = re.compile(r"(\d+)-(\d+)\t([^\t]*)\t")
_NO_BLANK = "SpaceAfter=No"
_TIE = 1e-9


class SplitterParts(NamedTuple):
    """The sentences of the paragraphs to learn from, and of those to be scored on (none: nothing is
    scored).
    """

    train: Sequence[Sequence[Sentence]]
    dev: Sequence[Sequence[Sentence]]


class SplitParagraph(NamedTuple):
    """A paragraph, and whether a sentence starts at each of its words."""

    paragraph: Paragraph
    starts: Mask


def paragraphs_of(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The sentences of each paragraph, by the marks ``# newpar`` and ``# newdoc``; what no mark
    divides is one.
    """
    paragraphs: list[list[Sentence]] = []
    for sentence in sentences:
        if not paragraphs or _opens_paragraph(sentence):
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    return paragraphs


def is_running_text(sentences: Sequence[Sentence]) -> bool:
    """Whether there is something to learn from: a format of treebanks, and enough sentences that
    start inside a paragraph.
    """
    known = all(own.source is None or own.source.format in _RUNNING_TEXT for own in sentences)
    return known and len(sentences) - len(paragraphs_of(sentences)) >= MIN_SENTENCES


def pieces_of(paragraphs: Sequence[Sequence[Sentence]], longest: int) -> list[Sequence[Sentence]]:
    """The paragraphs, cut after ``longest`` sentences (0: not cut)."""
    return [
        own[first : first + (longest or len(own))]
        for own in paragraphs
        for first in range(0, len(own), longest or len(own))
    ]


def joined(
    paragraphs: Sequence[Sequence[Sentence]], share: float, seed: int
) -> list[list[Sentence]]:
    """The paragraphs, a random ``share`` of them joined to the one before: boundaries to learn from
    that only layout shows elsewhere.
    """
    draws = np.random.default_rng(seed).random(len(paragraphs))
    runs: list[list[Sentence]] = []
    for own, draw in zip(paragraphs, draws.tolist(), strict=True):
        if runs and draw < share:
            runs[-1].extend(own)
        else:
            runs.append(list(own))
    return runs


def as_text(paragraphs: Sequence[Sequence[Sentence]]) -> list[SplitParagraph]:
    """Paragraphs as they stand in text."""
    return [_as_text(own) for own in paragraphs]


def train_splitter(
    parts: SplitterParts, config: SplitterConfig, *, seed: int, listener: Listener
) -> Best[Splitter]:
    """The best splitter by the F1 of sentences in the paragraphs of the development part, or the
    last one.

    Raises:
        ConfigError: a learner that does not learn sequences.
    """
    if not fits(config):
        raise ConfigError(
            f"splitter.learner: expected one that learns label sequences, got {config.learner!r}"
        )
    examples = as_text(pieces_of(joined(parts.train, config.join, seed), config.longest))
    spacing = any(not all(own.paragraph.spaced) for own in examples)
    values, places = paragraph_columns([own.paragraph for own in examples], spacing=spacing)
    gold = np.concatenate([own.starts for own in examples]).astype(np.int32)
    settings = SequenceSettings(
        templates=compile_templates(config.templates, COLUMNS),
        min_count=config.min_count,
        all_labels_from=1,
        bigrams=config.bigrams,
        learner=lambda problem, offsets: build_learner(problem, config, seed, offsets),
        stop=config.stop,
    )

    def finished(model: SequenceModel) -> Splitter:
        return Splitter(without_small_weights(model, config.drop_below), spacing)

    dev = as_text(parts.dev)
    score = _Score(dev, config.stop.iterations)
    best = fit(
        SequenceExamples(values, places, gold, all_labels(len(gold), N_LABELS), N_LABELS),
        settings,
        (lambda model: score(finished(model))) if _has_boundaries(dev) else None,
        SPLITTER,
        listener,
    )
    return Best(finished(best.model), best.record, best.reason)


def calibrated(splitter: Splitter, dev: Sequence[Sequence[Sentence]], learned: float) -> Splitter:
    """The splitter at the temperature at which its probabilities are truest of the development
    part; ``learned`` without one.
    """
    texts = as_text(dev)
    inner = [own.starts[1:] for own in texts]
    gold = np.concatenate(inner) if inner else np.zeros(0, dtype=np.bool_)

    def at(temperature: float) -> Splitter:
        return replace(splitter, model=replace(splitter.model, temperature=temperature))

    def probabilities(temperature: float) -> Floats:
        found = at(temperature).all_probabilities([own.paragraph for own in texts])
        starting = np.concatenate([own[1:] for own in found])
        return np.where(gold, starting, 1.0 - starting)

    return at(fit_temperature(probabilities, np.ones(len(gold), dtype=np.bool_), learned))


def score_sentences(gold: Sequence[Mask], found: Sequence[Mask]) -> Score:
    """Sentences with both ends right, as CoNLL 2018 counts them where the words are given; of
    paragraphs, one mask each.
    """
    correct = wanted = system = 0
    for own_gold, own_found in zip(gold, found, strict=True):
        right, seen = _ranges(own_gold), _ranges(own_found)
        correct, wanted, system = (
            correct + len(right & seen),
            wanted + len(right),
            system + len(seen),
        )
    return Score(correct, wanted, system)


def score_splitter(splitter: Splitter, paragraphs: Sequence[Sequence[Sentence]]) -> Score:
    """The score of a splitter on paragraphs whose words are given."""
    own = as_text(paragraphs)
    return score_sentences(
        [text.starts for text in own], splitter.split([text.paragraph for text in own])
    )


class _Score:
    """F1 of sentences, pass by pass. Of passes with equal scores, which are common where there are
    few sentences, the later one is nearer to the optimum and shall be kept: it scores greater by
    ``_TIE``.
    """

    def __init__(self, dev: Sequence[SplitParagraph], passes: int) -> None:
        self.gold, self.paragraphs = [own.starts for own in dev], [own.paragraph for own in dev]
        self.left = passes

    def __call__(self, splitter: Splitter) -> float:
        self.left -= 1
        f1 = score_sentences(self.gold, splitter.split(self.paragraphs)).f1
        return max(0.0, f1 - _TIE * self.left)


def _has_boundaries(texts: Sequence[SplitParagraph]) -> bool:
    """Whether there is anything to be found, and to be scored."""
    return any(own.starts[1:].any() for own in texts)


def _ranges(starts: Mask) -> set[tuple[int, int]]:
    return set(pairwise([*np.flatnonzero(starts).tolist(), len(starts)]))


def _opens_paragraph(sentence: Sentence) -> bool:
    source = sentence.source
    if source is None or not source.word_lines:
        return False
    return any(line.startswith(_MARKS) for line in source.lines[: source.word_lines[0]])


def _as_text(sentences: Sequence[Sentence]) -> SplitParagraph:
    forms: list[str] = []
    spaced: list[bool] = []
    starts: list[bool] = []
    for sentence in sentences:
        first = len(forms)
        for form, blank in _words_in_text(sentence):
            forms.append(form)
            spaced.append(blank)
            starts.append(len(forms) - 1 == first)
    if spaced:
        spaced[-1] = True
    return SplitParagraph(Paragraph(forms, spaced), np.array(starts, dtype=np.bool_))


def _words_in_text(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Words and whether a blank follows. A multiword token is one word, but where its words spell
    it (do+n't): so do tokenisers.
    """
    misc = sentence.misc or ("",) * len(sentence)
    tokens = _multiword_tokens(sentence)
    k = 0
    while k < len(sentence):
        last, form, blank = tokens.get(k, (k, sentence.forms[k], _NO_BLANK not in misc[k]))
        if k in tokens and "".join(sentence.forms[k : last + 1]) == form:
            yield from ((own, False) for own in sentence.forms[k:last])
            form = sentence.forms[last]
        yield form, blank
        k = last + 1


def _multiword_tokens(sentence: Sentence) -> dict[int, tuple[int, str, bool]]:
    """First word of each multiword token (from 0) -> last word, form, whether a blank follows."""
    source = sentence.source
    if source is None or len(source.lines) == len(sentence):
        return {}
    found = {}
    for line in source.lines:
        match = _MULTIWORD.match(line)
        if match:
            blank = _NO_BLANK not in line.rpartition("\t")[2]
            found[int(match[1]) - 1] = (int(match[2]) - 1, match[3], blank)
    return found
