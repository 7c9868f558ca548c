"""The columns, counts and facts of corpora that problems of sentences share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.attachment import is_punctuation
from egparse.experiments.problems.samples import Sample
from egparse.features.word_table import Columns, Words
from egparse.sentences import Sentence
from egparse.types import Ints, Mask


def facts_of(sample: Sample) -> dict[str, Any]:
    """The name of the data, and the sentences and words of each part."""
    facts: dict[str, Any] = {"data": sample.name}
    for name, part in (
        ("training", sample.train),
        ("validation", sample.dev),
        ("test", sample.test),
    ):
        if part:
            facts[f"{name} sentences"] = len(part)
            facts[f"{name} words"] = sum(map(len, part))
    return facts


def tagged(columns: Columns, sentences: Sequence[Sentence], predicted: Sequence[str]) -> Words:
    """Words whose tag columns hold the tags of the corpus, except those of the predicted layers."""
    words = columns.words([sentence.forms for sentence in sentences])
    return columns.with_input(words, sentences, predicted)


def heads_of(sentences: Sequence[Sentence]) -> list[Ints]:
    """The heads of each sentence.

    Raises:
        EgparseError: a word without a head.
    """
    for sentence in sentences:
        if not sentence.heads or min(sentence.heads) < 0:
            raise EgparseError(
                f"expected a head for every word, got none in: {' '.join(sentence.forms[:8])}"
            )
    return [np.array(sentence.heads, dtype=np.int32) for sentence in sentences]


def without_punctuation(part: Sequence[Sentence], right: Mask) -> dict[str, float]:
    """The UAS of words that are no punctuation, as ``eval.pl`` of CoNLL-X counts by default."""
    counts = np.array([not is_punctuation(form) for own in part for form in own.forms], dtype=bool)
    return {"without punctuation": 100.0 * float(right[counts].mean()) if counts.any() else 0.0}
