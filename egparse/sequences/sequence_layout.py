"""Flat arrays with the parts of each sentence of a training set: candidate labels, then label
bigrams.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs, UInt16s


class SequenceLayout(NamedTuple):
    """Sentence ``i`` has the words ``words[i]:words[i + 1]``, and with n words n + 1 entries of
    ``starts`` from ``words[i] + i`` on.

    Its candidates, ``candidates[candidate_starts[words[i]]:...]``, are labels; ``places`` numbers
    them, or their classes, within ``label_sets[label_starts[i]:label_starts[i + 1]]``, the L labels
    or classes of the sentence.
    Its parts are the candidates, then a table of L^2 label bigrams as in
    ``structures.chains.chain`` (none without bigrams, where L is 0). ``gold[k]`` is the correct
    candidate of word k, counted from the first of its sentence.
    """

    parts: Longs
    words: Longs
    starts: Ints
    candidates: UInt16s
    candidate_starts: Longs
    places: Ints
    label_sets: UInt16s
    label_starts: Longs
    gold: Ints


class Sentence(NamedTuple):
    """One sentence's slices; ``n_labels`` is 0 without bigrams."""

    first: int
    starts: Ints
    candidates: UInt16s
    places: Ints
    labels: UInt16s
    n_labels: int


def lay_out(
    word_starts: Longs,
    gold: Ints,
    candidates: UInt16s,
    candidate_starts: Longs,
    bigrams: bool,
    classes: UInt16s | None = None,
) -> SequenceLayout:
    """Lay out sentences, with ``bigrams`` of labels, or of their ``classes[label]``; see
    ``SequenceProblem`` for the other arguments.

    Raises:
        ValueError: a word whose correct label is not one of its candidates, or whose candidates do
            not ascend.
    """
    n = len(word_starts) - 1
    if not _ascend(candidates, candidate_starts):
        raise ValueError("expected the candidates of each word in ascending order")
    starts = np.empty(len(gold) + n, dtype=np.int32)
    _fill_starts(word_starts, candidate_starts, starts)
    places = np.zeros(len(candidates), dtype=np.int32)
    sizes = np.diff(candidate_starts[word_starts])
    label_starts = np.zeros(n + 1, dtype=np.int64)
    label_sets = np.empty(0, dtype=np.uint16)
    if bigrams:
        in_ngrams = candidates if classes is None else classes[candidates]
        n_labels = 1 + int(in_ngrams.max(initial=0))
        label_sets = np.empty(int(np.minimum(sizes, n_labels).sum()), dtype=np.uint16)
        place_of = np.full(n_labels, -1, dtype=np.int32)
        bounds = candidate_starts[word_starts]
        _find_label_sets(in_ngrams, bounds, place_of, label_sets, label_starts, places)
        label_sets = label_sets[: label_starts[-1]].copy()
        sizes = sizes + np.diff(label_starts) ** 2
    layout = SequenceLayout(
        np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
        word_starts,
        starts,
        candidates,
        candidate_starts,
        places,
        label_sets,
        label_starts,
        np.empty(len(gold), dtype=np.int32),
    )
    if not _find_gold(layout, gold):
        raise ValueError("expected the correct label of every word among its candidates")
    return layout


def part_of(layout: SequenceLayout, first: int, end: int) -> SequenceLayout:
    """The layout of the sentences from ``first`` up to ``end``, numbered from 0; their arrays are
    views.
    """
    words = layout.words[first : end + 1]
    of_words = slice(int(words[0]), int(words[-1]))
    candidate_starts = layout.candidate_starts[of_words.start : of_words.stop + 1]
    of_candidates = slice(int(candidate_starts[0]), int(candidate_starts[-1]))
    label_starts = layout.label_starts[first : end + 1]
    parts = layout.parts[first : end + 1]
    return SequenceLayout(
        parts - parts[0],
        words - words[0],
        layout.starts[of_words.start + first : of_words.stop + end],
        layout.candidates[of_candidates],
        candidate_starts - candidate_starts[0],
        layout.places[of_candidates],
        layout.label_sets[label_starts[0] : label_starts[-1]],
        label_starts - label_starts[0],
        layout.gold[of_words],
    )


@njit
def _fill_starts(word_starts: Longs, candidate_starts: Longs, starts: Ints) -> None:
    """Where the candidates of each word begin within those of its sentence."""
    for i in range(word_starts.shape[0] - 1):
        first = candidate_starts[word_starts[i]]
        for word in range(word_starts[i], word_starts[i + 1] + 1):
            starts[word + i] = candidate_starts[word] - first


@njit
def _find_label_sets(
    labels: UInt16s,
    bounds: Longs,
    place_of: Ints,
    label_sets: UInt16s,
    label_starts: Longs,
    places: Ints,
) -> None:
    """Write the distinct ``labels[bounds[i]:bounds[i + 1]]`` of each sentence, ascending, to
    ``label_sets``, and the place of each label in its set; ``place_of`` (labels,) is -1 between
    sentences.
    """
    total = 0
    for i in range(bounds.shape[0] - 1):
        first, end = bounds[i], bounds[i + 1]
        least, most = place_of.shape[0], -1
        for c in range(first, end):
            label = int(labels[c])
            place_of[label] = 0
            if label < least:
                least = label
            if label > most:
                most = label
        begin = total
        for label in range(least, most + 1):
            if place_of[label] == 0:
                label_sets[total] = label
                place_of[label] = total - begin
                total += 1
        for c in range(first, end):
            places[c] = place_of[labels[c]]
        for place in range(begin, total):
            place_of[label_sets[place]] = -1
        label_starts[i + 1] = total


@njit
def sentence_of(layout: SequenceLayout, i: int) -> Sentence:
    """The slices of sentence i."""
    words, label_starts = layout.words, layout.label_starts
    first, end = words[i], words[i + 1]
    begin, stop = layout.candidate_starts[first], layout.candidate_starts[end]
    labels = layout.label_sets[label_starts[i] : label_starts[i + 1]]
    return Sentence(
        first,
        layout.starts[first + i : end + i + 1],
        layout.candidates[begin:stop],
        layout.places[begin:stop],
        labels,
        labels.shape[0],
    )


@njit
def _ascend(candidates: UInt16s, starts: Longs) -> bool:
    for k in range(starts.shape[0] - 1):
        for c in range(starts[k] + 1, starts[k + 1]):
            if candidates[c] <= candidates[c - 1]:
                return False
    return True


@njit
def _find_gold(layout: SequenceLayout, correct: Ints) -> bool:
    gold = layout.gold
    for i in range(layout.words.shape[0] - 1):
        sentence = sentence_of(layout, i)
        starts, candidates = sentence.starts, sentence.candidates
        for k in range(starts.shape[0] - 1):
            word = sentence.first + k
            gold[word] = -1
            for c in range(starts[k], starts[k + 1]):
                if candidates[c] == correct[word]:
                    gold[word] = c
            if gold[word] < 0:
                return False
    return True


@njit
def write_gold(layout: SequenceLayout, i: int, out: Floats) -> None:
    """One on the correct label of each word; the count of each correct label bigram."""
    sentence = sentence_of(layout, i)
    write_path(
        sentence, layout.gold[sentence.first : sentence.first + sentence.starts.shape[0] - 1], out
    )


@njit
def write_path(sentence: Sentence, path: Ints, out: Floats) -> None:
    """The parts of a label sequence, given by the candidate ``path[k]`` of each word, counted as in
    ``gold``.
    """
    starts, places, size = sentence.starts, sentence.places, sentence.n_labels
    n = starts.shape[0] - 1
    out[:] = 0.0
    for k in range(n):
        out[path[k]] = 1.0
        if k > 0 and size > 0:
            out[np.int64(starts[n]) + size * places[path[k - 1]] + places[path[k]]] += 1.0


@njit
def write_cost(layout: SequenceLayout, i: int, out: Floats) -> None:
    """Hamming cost: one for each wrong label, nothing for bigrams."""
    gold, starts = layout.gold, sentence_of(layout, i).starts
    out[:] = 0.0
    out[: starts[starts.shape[0] - 1]] = 1.0
    for word in range(layout.words[i], layout.words[i + 1]):
        out[gold[word]] = 0.0
