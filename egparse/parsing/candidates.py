"""Candidate arcs, by how frequent arcs of their kind are in training.

The frequency of an arc is the share of correct arcs among all pairs of words with the same tags,
direction, bin of length and number of verbs in between, smoothed. Candidate heads of a word are
those with at least ``share`` times the frequency of its most frequent head.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import LENGTH_BINS
from egparse.types import Floats, Ints, Shorts, Singles

N_CELLS = 54  # 9 bins of length, 2 directions, 0 / 1 / at least 2 verbs in between
_PRIOR, _PRIOR_PAIRS = 0.1, 10.0  # pseudo-counts of correct arcs and of pairs in each cell
_BASE_PAIRS = 200.0  # pseudo-count of pairs of a base, which does not store its counts


class ArcFilter(NamedTuple):
    """``frequency[head tag, dependent tag, cell]``; ``column`` is the column of the tags and
    ``verb`` the value that verbs have in it.

    ``share`` is the share of the highest frequency that an arc needs (0 keeps all arcs). The arc to
    each word from the word (or root) before it is always a candidate, so that a projective,
    single-root tree exists.
    """

    frequency: Singles
    column: int
    verb: int
    share: float


def build_arc_filter(
    sentences: Sequence[Ints],
    heads: Sequence[Ints],
    column: int,
    verb: int,
    share: float,
    base: ArcFilter | None = None,
) -> ArcFilter:
    """Count over training sentences, whose rows are the root and then the words.

    Words whose head is not known (negative) are not counted. With a ``base`` over the same tags,
    counts are added to its frequencies as if these were from
    ``_BASE_PAIRS`` pairs in each cell.
    """
    known = 0 if base is None else len(base.frequency)
    size = max(known, 1 + max((int(values[:, column].max()) for values in sentences), default=0))
    correct = np.zeros((size, size, N_CELLS), dtype=np.int32)
    pairs = np.zeros((size, size, N_CELLS), dtype=np.int32)
    for values, correct_heads in zip(sentences, heads, strict=True):
        _count(np.ascontiguousarray(values[:, column]), correct_heads, verb, correct, pairs)
    frequency = np.empty(correct.shape, dtype=np.float32)
    for head in range(size):  # a head at a time: 600 tags have 20 million cells
        prior_correct = np.full((size, N_CELLS), _PRIOR)
        prior_pairs = np.full((size, N_CELLS), _PRIOR_PAIRS)
        if base is not None and head < known:
            prior_correct[:known] = _BASE_PAIRS * base.frequency[head]
            prior_pairs[:known] = _BASE_PAIRS
        frequency[head] = (correct[head] + prior_correct) / (pairs[head] + prior_pairs)
    frequency.setflags(write=False)  # as in a model file: kernels are compiled for one type
    return ArcFilter(frequency, column, verb, share)


def candidates_with_correct(values: Ints, heads: Ints, arc_filter: ArcFilter) -> Shorts:
    """The candidate arcs of a training sentence, followed by the correct arcs that are missing."""
    room = np.empty((len(values) ** 2, 2), dtype=np.int16)
    arcs = room[: candidate_arcs(values, arc_filter, room)]
    present = np.zeros((len(values), len(values)), dtype=bool)
    present[arcs[:, 0], arcs[:, 1]] = True
    correct = np.stack([heads, np.arange(1, len(values))], axis=1).astype(np.int16)
    missing = correct[~present[correct[:, 0], correct[:, 1]]]
    return np.ascontiguousarray(np.concatenate([arcs, missing]))


@njit(inline=True)
def _cell(head: int, dependent: int, verbs: Ints) -> int:
    rightward = 1 if head < dependent else 0
    length = abs(head - dependent)
    bin_ = LENGTH_BINS[length] if length < 16 else 8
    between = verbs[max(head, dependent) - 1] - verbs[min(head, dependent)]
    return int((2 * bin_ + rightward) * 3 + min(between, 2))


@njit
def _verbs_up_to(tags: Ints, verb: int) -> Ints:
    """verbs[k]: the number of verbs at the positions 0..k."""
    verbs = np.zeros(tags.shape[0], dtype=np.int32)
    for k in range(1, tags.shape[0]):
        verbs[k] = verbs[k - 1] + (tags[k] == verb)
    return verbs


@njit
def _count(tags: Ints, heads: Ints, verb: int, correct: Ints, pairs: Ints) -> None:
    """Add the pairs of words of one sentence to ``pairs``, its correct arcs to ``correct``."""
    verbs = _verbs_up_to(tags, verb)
    for dependent in range(1, tags.shape[0]):
        if heads[dependent - 1] < 0:  # not annotated
            continue
        for head in range(tags.shape[0]):
            if head != dependent:
                cell = _cell(head, dependent, verbs)
                pairs[tags[head], tags[dependent], cell] += 1
                if heads[dependent - 1] == head:
                    correct[tags[head], tags[dependent], cell] += 1


@njit
def log_frequencies(values: Ints, arc_filter: ArcFilter) -> Floats:
    """The log of the frequency of each arc [head, dependent] of a sentence, -inf for pairs that are
    no arc.
    """
    frequency, size = arc_filter.frequency, values.shape[0]
    n_tags = frequency.shape[0]
    tags = np.empty(size, dtype=np.int32)
    for k in range(size):
        tag = values[k, arc_filter.column]
        tags[k] = tag if tag < n_tags else 0
    verbs = _verbs_up_to(tags, arc_filter.verb)
    out = np.full((size, size), -np.inf)
    for dependent in range(1, size):
        for head in range(size):
            if head != dependent:
                cell = _cell(head, dependent, verbs)
                out[head, dependent] = math.log(frequency[tags[head], tags[dependent], cell])
    return out


@njit
def candidate_arcs(values: Ints, arc_filter: ArcFilter, arcs: Shorts) -> int:
    """List the candidate (head, dependent) pairs of a sentence, row 0 of ``values`` being the root;
    returns how many.
    """
    frequency, share = arc_filter.frequency, arc_filter.share
    size, n_tags = values.shape[0], frequency.shape[0]
    tags = np.empty(size, dtype=np.int32)
    for k in range(size):
        tag = values[k, arc_filter.column]
        tags[k] = tag if tag < n_tags else 0
    verbs = _verbs_up_to(tags, arc_filter.verb)
    frequencies = np.empty(size, dtype=np.float32)
    count = 0
    for dependent in range(1, size):
        best = np.float32(0.0)
        for head in range(size):
            frequencies[head] = 0.0
            if head != dependent:
                cell = _cell(head, dependent, verbs)
                frequencies[head] = frequency[tags[head], tags[dependent], cell]
            best = max(best, frequencies[head])
        threshold = share * best
        for head in range(size):
            if head != dependent and (frequencies[head] >= threshold or head == dependent - 1):
                arcs[count, 0] = head
                arcs[count, 1] = dependent
                count += 1
    return count
