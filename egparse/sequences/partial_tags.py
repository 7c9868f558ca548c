"""Tags of which some words have none: what their candidates are, and what training starts from.

A word without a tag may have any of its candidates. Before there is a model they are weighed by the
tags that its form has where it is annotated, backed off to the frequencies of tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.features.tag_dictionary import Candidates
from egparse.sentences import MISSING, Sentence
from egparse.types import Floats, Ints, Longs, Mask

_SMOOTHING = 0.5  # pseudo-count of every label in the frequencies that forms back off to


class PartialTags(NamedTuple):
    """``annotated`` (words,) marks the words that have a tag; of the candidates, flat over all
    words, ``allowed`` marks those that agree with the annotation, and ``prior`` has their scores in
    nats before there is a model.
    """

    annotated: Mask
    allowed: Mask
    prior: Floats


def some_completion(gold: Ints, candidates: Candidates) -> Ints:
    """The gold label numbers, with the first candidate of each word that has none (-1)."""
    first = candidates.labels[candidates.starts[:-1]].astype(np.int32)
    return np.where(gold >= 0, gold, first)


def partial_tags(
    form_ids: Ints, gold: Ints, readings: Mask | None, candidates: Candidates, n_labels: int
) -> PartialTags:
    """What is annotated of words with label numbers ``gold``, -1 for none.

    ``readings`` (labels, labels), if given, says which labels agree with a gold label; else only
    the label itself does.
    """
    annotated = gold >= 0
    word: Longs = np.repeat(np.arange(len(gold)), np.diff(candidates.starts))
    labels = candidates.labels.astype(np.int64)
    agrees = labels == gold[word] if readings is None else readings[gold[word], labels]
    prior = _log_frequencies(form_ids, gold, annotated, word, labels, n_labels)
    return PartialTags(annotated, agrees | ~annotated[word], prior)


def equal_readings(kinds: Ints) -> Mask:
    """Which labels have the same ``kinds`` (labels,), (labels, labels)."""
    same: Mask = kinds[:, None] == kinds[None, :]
    return same


def lacks_spans(sentences: Sequence[Sentence]) -> bool:
    """Whether some word of a sentence with spans has none, so that a tag next to it may mean
    several tags of a scheme with ends.
    """
    return any(MISSING in sentence.spans for sentence in sentences)


def _log_frequencies(
    form_ids: Ints, gold: Ints, annotated: Mask, word: Longs, labels: Longs, n_labels: int
) -> Floats:
    """log (n(form, label) + p(label)) / (n(form) + 1) of each candidate, from the annotated
    words.
    """
    counts = np.bincount(gold[annotated], minlength=n_labels) + _SMOOTHING
    shares = counts / counts.sum()
    of_form = np.bincount(form_ids[annotated], minlength=int(form_ids.max(initial=0)) + 1)
    pairs = form_ids[annotated].astype(np.int64) * n_labels + gold[annotated]
    keys, times = np.unique(pairs, return_counts=True)
    wanted = form_ids[word].astype(np.int64) * n_labels + labels
    places = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    seen = np.where(keys[places] == wanted, times[places], 0) if len(keys) else 0
    scores: Floats = np.log((seen + shares[labels]) / (of_form[form_ids[word]] + 1.0))
    return scores
