"""Evaluating a model on a corpus: its layers, and the tokens and sentences that it finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.bootstrap import Units
from egparse.evaluation.evaluate_model import Annotator, evaluate_model
from egparse.evaluation.report import Report
from egparse.evaluation.report import evaluate as report_of
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.text.splitting.splitter import Splitter
from egparse.text.splitting.training import splitter_counts
from egparse.text.treebank_text import paragraphs_of, raw_text
from egparse.types import Longs

MIN_UNITS = 30
"""Documents or paragraphs are resampled if there are so many: fewer give too few different samples
for the ends of an interval.
"""


class EvaluatedModel(Annotator, Protocol):
    """The part of a ``Model`` that evaluation uses."""

    @property
    def splitter(self) -> Splitter | None:
        """The sentence splitter, if there is one."""

    def __call__(self, source: str, /) -> list[Sentence]:
        """The annotated sentences of a text."""


def evaluate(
    model: EvaluatedModel,
    gold: str | Path | Iterable[Sentence],
    *,
    gold_tags: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
    from_text: bool = False,
) -> Report:
    """The scores of a model on a gold corpus, given as a path or as sentences.

    Every layer is predicted from the words, with ``gold_tags`` also from the gold tags. The
    sentence splitter is scored on the paragraphs of ``gold``, whose words are given.
    ``bootstrap`` is the number of resamples for the intervals, 0 for none.

    With ``from_text`` the model is given the text of ``gold`` (``from_text.raw_text``) instead of
    its words, and finds tokens, words and sentences itself. Intervals then resample documents or
    paragraphs (``from_text.resampled_units``).

    Raises:
        EgparseError: a corpus that cannot be read, or without sentences; ``gold_tags`` or
            ``details`` with ``from_text``.
    """
    if isinstance(gold, str | Path):
        # Trees with several roots are scored too: scoring does not depend on their number.
        gold = read_corpus(gold, multiple_roots=True)
    sentences = list(gold)
    if from_text:
        if gold_tags or details:
            option = "gold tags" if gold_tags else "details"
            raise EgparseError(f"{option}: need the words of the gold corpus, not its text")
        return report_of(
            sentences,
            model(raw_text(sentences)) if sentences else [],
            layers=set(model.layers),
            bootstrap=bootstrap,
            seed=seed,
            from_text=True,
            units=resampled_units(sentences),
        )
    return evaluate_model(
        model,
        sentences,
        gold_tags=gold_tags,
        bootstrap=bootstrap,
        seed=seed,
        details=details,
        sentence_counts=splitter_counts(model.splitter, sentences),
    )


def resampled_units(sentences: Sequence[Sentence]) -> Units | None:
    """What is resampled where sentences have to be found, because an error in one may spoil its
    neighbours: documents, or paragraphs, if there are ``MIN_UNITS``; else None, sentences.
    """
    opens = [sentence.opens_document for sentence in sentences]
    if sum(opens) >= MIN_UNITS:
        return Units("document", _numbered(opens))
    paragraphs = paragraphs_of(sentences)
    if len(paragraphs) >= MIN_UNITS:
        lengths = [len(paragraph) for paragraph in paragraphs]
        return Units("paragraph", np.repeat(np.arange(len(lengths)), lengths))
    return None


def _numbered(opens: Sequence[bool]) -> Longs:
    """The number of each sentence's unit; what stands before the first mark belongs to it."""
    return np.maximum(np.cumsum(np.array(opens, dtype=np.int64)) - 1, 0)
