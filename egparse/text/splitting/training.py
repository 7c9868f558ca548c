"""Learning a sentence splitter: a CRF fitted to where sentences start in paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from egparse.classes.columns import ClassColumns, columns_in
from egparse.classes.packed import PackedTable
from egparse.config.sections import SplitterConfig
from egparse.config.tasks import with_classes
from egparse.evaluation.scores import Score, sentence_counts, total
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.fitting.task import Outcomes
from egparse.layers import SPLITTER
from egparse.sentences import Sentence
from egparse.sequences.task import Lesson, SequenceExamples, SequenceTask
from egparse.text.splitting.columns import (
    casing_counts,
    column_names,
    paragraph_columns,
    set_casings,
)
from egparse.text.splitting.splitter import N_LABELS, Splitter
from egparse.text.treebank_text import (
    SplitParagraph,
    SplitterParts,
    as_text,
    is_running_text,
    joined,
    paragraphs_of,
    pieces_of,
)
from egparse.types import Floats, Longs, Mask

_CASING_FOLDS = 10

_LEANINGS = np.arange(-4, 13) / 4
"""How far a splitter may lean towards starts, in nats."""

_TIE = 1e-9


@dataclass(frozen=True)
class SplitterTask(SequenceTask[Splitter, SplitterConfig]):
    """The task of finding sentence starts in the paragraphs of a corpus, with templates over some
    tables of word classes.
    """

    parts: SplitterParts
    tables: Sequence[PackedTable] = ()

    name = SPLITTER
    learns = "label sequences"

    def lesson(self, config: SplitterConfig) -> Lesson[Splitter]:
        """Words of paragraphs that are joined and cut at random."""
        runs = joined(self.parts.train, config.join, self.seed)
        examples = as_text(pieces_of(runs, config.longest))
        spacing = any(not all(one.paragraph.spaced) for one in examples)
        texts = with_classes(config, len(self.tables))
        named = columns_in(texts)
        classes = ClassColumns(self.tables, named) if named else None
        values, places = paragraph_columns(
            [one.paragraph for one in examples], spacing=spacing, classes=classes
        )
        starts = np.concatenate([one.starts for one in examples])
        counts = casing_counts(values, starts)
        folds = np.repeat(np.arange(len(examples)) % _CASING_FOLDS, np.diff(places))
        set_casings(values, counts.of_corpus(folds))
        casings, gold = counts.table(), starts.astype(np.int32)
        return Lesson(
            SequenceExamples(values, places, gold, all_labels(len(gold), N_LABELS), N_LABELS),
            compile_templates(texts, column_names(classes)),
            lambda model: Splitter(model, spacing, classes, casings),
        )

    def as_stored(self, predictor: Splitter) -> Splitter:
        """The splitter as a model file holds it, leaning towards starts."""
        return _leaning(super().as_stored(predictor), self._dev_with_boundaries)

    @cached_property
    def _dev_with_boundaries(self) -> Sequence[SplitParagraph]:
        """The development part, if a sentence starts inside a paragraph of it, so that there is
        something to score; else none.
        """
        dev = as_text(self.parts.dev)
        return dev if any(text.starts[1:].any() for text in dev) else []

    def score(self) -> Callable[[Splitter], float] | None:
        """F1 of sentences in the paragraphs of the development part, from 0 to 100."""
        dev = self._dev_with_boundaries
        return _Score(dev, self.config.stop.iterations) if dev else None

    def outcomes(self, predictor: Splitter) -> Outcomes[Splitter]:
        """The probability of the gold outcome, start or no start, at each word but the first of a
        paragraph, which always starts a sentence.
        """
        texts = as_text(self.parts.dev)
        inner = [text.starts[1:] for text in texts]
        gold = np.concatenate(inner) if inner else np.zeros(0, dtype=np.bool_)

        def probabilities(splitter: Splitter) -> Floats:
            by_paragraph = splitter.all_probabilities([text.paragraph for text in texts])
            starting = np.concatenate([values[1:] for values in by_paragraph])
            return np.where(gold, starting, 1.0 - starting)

        return Outcomes.of_all(np.ones(len(gold), dtype=np.bool_), probabilities)


def score_sentences(gold: Sequence[Mask], predicted: Sequence[Mask]) -> Score:
    """The score of sentences with both ends right, from one mask of starts for each paragraph, as
    in CoNLL 2018 with given words.
    """
    return total(sentence_counts(gold, predicted))


def splitter_counts(splitter: Splitter | None, gold: Sequence[Sentence]) -> Longs | None:
    """``counts[sentence] = (correct, gold, system)`` of the sentences that a splitter finds among
    the words of a gold corpus; None without a splitter or if the corpus is not running text.
    """
    if splitter is None or not is_running_text(gold):
        return None
    texts = as_text(paragraphs_of(gold))
    counts = np.zeros((len(gold), 3), dtype=np.int64)
    counts[[len(sentence) > 0 for sentence in gold]] = sentence_counts(
        [text.starts for text in texts], splitter.split([text.paragraph for text in texts])
    )
    return counts


class _Score:
    """The F1 of sentences after each pass. Of passes with equal F1, which are common with few
    sentences, the later one is nearer to the optimum: its score is greater by ``_TIE``.
    """

    def __init__(self, dev: Sequence[SplitParagraph], passes: int) -> None:
        self.gold, self.paragraphs = [one.starts for one in dev], [one.paragraph for one in dev]
        self.left = passes

    def resume(self, passes: int) -> None:
        """Go on as if so many passes had been rated; ``egparse.fitting.optimise`` calls it."""
        self.left -= passes

    def __call__(self, splitter: Splitter) -> float:
        self.left -= 1
        f1 = score_sentences(self.gold, splitter.split(self.paragraphs)).f1
        return max(0.0, f1 - _TIE * self.left)


def _leaning(splitter: Splitter, dev: Sequence[SplitParagraph]) -> Splitter:
    """The splitter that leans towards starts as far as is best for the F1 of sentences of a
    development part; the same one without such a part.

    Where starts are uncertain and rare, the most probable sequence has few of them, and the best F1
    takes those with a probability of about half of it (Lipton et al. 2014, "Optimal Thresholding of
    Classifiers to Maximize F1 Measure", section 4). The F1 of a leaning is the mean of three, so
    that chance counts less.
    """
    if not dev:
        return splitter
    gold = [text.starts for text in dev]
    split = splitter.split_leaning([text.paragraph for text in dev], _LEANINGS.tolist())
    f1 = np.array([score_sentences(gold, masks).f1 for masks in split])
    smooth, inner = np.convolve(f1, np.ones(3) / 3, "valid"), _LEANINGS[1:-1]
    best = inner[np.lexsort((np.abs(inner), -smooth))[0]]
    return splitter.leaning(float(best))
