"""Evaluating a model on a corpus: its layers, and the sentences that its splitter finds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from egparse.evaluation.evaluate_model import Annotator, evaluate_model
from egparse.evaluation.report import Report
from egparse.readers.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.splitting.splitter import Splitter
from egparse.splitting.training import splitter_counts


class EvaluatedModel(Annotator, Protocol):
    """The part of a ``Model`` that evaluation uses."""

    @property
    def splitter(self) -> Splitter | None:
        """The sentence splitter, if there is one."""


def evaluate(
    model: EvaluatedModel,
    gold: str | Path | Iterable[Sentence],
    *,
    gold_tags: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
) -> Report:
    """The scores of a model on a gold corpus, given as a path or as sentences.

    Every layer is predicted from the words, with ``gold_tags`` also from the gold tags. The
    sentence splitter is scored on the paragraphs of ``gold``, whose words are given.
    ``bootstrap`` is the number of resamples for the intervals, 0 for none.

    Raises:
        EgparseError: a corpus that cannot be read, or without sentences.
    """
    if isinstance(gold, str | Path):
        # Trees with several roots are scored too: scoring does not depend on their number.
        gold = read_corpus(gold, multiple_roots=True)
    sentences = list(gold)
    return evaluate_model(
        model,
        sentences,
        gold_tags=gold_tags,
        bootstrap=bootstrap,
        seed=seed,
        details=details,
        sentence_counts=splitter_counts(model.splitter, sentences),
    )
