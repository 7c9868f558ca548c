"""Candidate arcs, by how frequent arcs of their kind are in training, and candidate labels of arcs:
those seen on arcs with the same tags and direction.

The frequency of an arc is the share of correct arcs among all pairs of words with the same tags,
direction, bin of length and number of verbs in between, smoothed. Candidate heads of a word are
those with at least ``share`` times the frequency of its most frequent head.

Labels are without subtypes and numbered by descending frequency in training. They help to find the
tree and are summed out; the labels in the output are those of the labeller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.arcs import LENGTH_BINS, ArcLabels
from egparse.sentences import MISSING
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.types import Arcs, Floats, Ints, Longs, Shorts, Singles, UInt8s

N_CELLS = 54  # 9 bins of length, 2 directions, 0 / 1 / at least 2 verbs in between
_PRIOR, _PRIOR_PAIRS = 0.1, 10.0  # pseudo-counts of correct arcs and of pairs in each cell
_BASE_PAIRS = 200.0  # pseudo-count of pairs of a base, which does not store its counts

ALL_CANDIDATES = np.empty((0, 2), dtype=np.int16)
"""In the place of given candidate arcs: those of the arc filter."""

NO_LABEL = -1
"""The rank of an unknown label."""

MOST_LABELS = 255
"""Labels that have a rank."""

_MAX_LABELS = 8  # of one kind of arcs
_MIN_SHARE = 0.004  # of the count of the most frequent label of a kind of arcs: candidates have it


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
        _count_arcs(np.ascontiguousarray(values[:, column]), correct_heads, verb, correct, pairs)
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
def _count_arcs(tags: Ints, heads: Ints, verb: int, correct: Ints, pairs: Ints) -> None:
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
def _known_tags(values: Ints, arc_filter: ArcFilter) -> Ints:
    """The tag of each position, 0 for those that the filter does not know."""
    tags = np.empty(values.shape[0], dtype=np.int32)
    for k in range(values.shape[0]):
        tag = values[k, arc_filter.column]
        tags[k] = tag if tag < arc_filter.frequency.shape[0] else 0
    return tags


@njit
def log_frequencies(values: Ints, arc_filter: ArcFilter) -> Floats:
    """The log of the frequency of each arc [head, dependent] of a sentence, -inf for pairs that are
    no arc.
    """
    frequency, size, tags = arc_filter.frequency, values.shape[0], _known_tags(values, arc_filter)
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
    size, tags = values.shape[0], _known_tags(values, arc_filter)
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


@njit
def list_arcs(values: Ints, candidates: Arcs, arc_filter: ArcFilter, room: Arcs) -> Arcs:
    """The given ``candidates``, or if there are none the candidates of the filter, in ``room``."""
    if candidates.shape[0] > 0:
        return candidates
    return room[: candidate_arcs(values, arc_filter, room)]


class ArcLabelDictionary(NamedTuple):
    """The label ranks ``labels[starts[k]:starts[k + 1]]`` of arcs of kind k (see ``_kind``), the
    most frequent first.

    ``column`` is the column of the tags, ``n_tags`` the number of known tags.
    """

    labels: UInt8s
    starts: Ints
    column: int
    n_tags: int


def rank_labels(deprels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Labels without subtypes and without ``MISSING``, the most frequent first; at most
    ``MOST_LABELS``.
    """
    counts = Counter(
        label.partition(":")[0] for labels in deprels for label in labels if label != MISSING
    )
    return tuple(
        label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )[:MOST_LABELS]


def label_ranks(
    deprels: Sequence[Sequence[str]], ranked: Sequence[str], lengths: Sequence[int]
) -> list[Ints]:
    """The rank of each word's label; ``NO_LABEL`` for unknown labels, and for all ``lengths[i]``
    words of a sentence without labels.
    """
    ranks = {label: rank for rank, label in enumerate(ranked)}
    return [
        np.array(
            [ranks.get(label.partition(":")[0], NO_LABEL) for label in labels or ("",) * n],
            dtype=np.int32,
        )
        for labels, n in zip(deprels, lengths, strict=True)
    ]


def build_dictionary(
    sentences: Sequence[Ints],
    heads: Sequence[Ints],
    ranks: Sequence[Ints],
    n_labels: int,
    column: int,
    base: ArcLabelDictionary | None = None,
) -> ArcLabelDictionary:
    """Count over training sentences, whose rows are the root and then the words.

    With a ``base`` over the same tags, whose labels have the lowest ranks, its candidates come
    first, whatever the counts.
    """
    n_tags = 1 + max((int(values[:, column].max()) for values in sentences), default=0)
    n_tags = n_tags if base is None else max(n_tags, base.n_tags)
    n_kinds = 2 * n_tags * n_tags
    if n_labels == 0:
        none = np.zeros(n_kinds + 1, dtype=np.int32)
        return ArcLabelDictionary(np.zeros(0, dtype=np.uint8), none, column, n_tags)
    kinds, counts = _count_labels(sentences, heads, ranks, n_labels, column, n_tags)
    by_dependent = np.zeros((n_tags, n_labels), dtype=np.int64)
    np.add.at(by_dependent, kinds // 2 % n_tags, counts)
    # of kinds never seen: the labels of the dependent's tag elsewhere
    elsewhere = [_frequent(of_tag) for of_tag in by_dependent]
    seen = {kind: _frequent(of_kind) for kind, of_kind in zip(kinds.tolist(), counts, strict=True)}
    rows = []
    for kind in range(n_kinds):
        of_base = [] if base is None else _candidates_of(base, kind, n_tags)
        if of_base:
            candidates = seen.get(kind, [])
            rows.append([*of_base, *(rank for rank in candidates if rank not in of_base)])
        else:
            rows.append(seen.get(kind) or elsewhere[kind // 2 % n_tags])
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    labels = np.fromiter(chain.from_iterable(rows), dtype=np.uint8, count=int(starts[-1]))
    return ArcLabelDictionary(labels, starts, column, n_tags)


def _count_labels(
    sentences: Sequence[Ints],
    heads: Sequence[Ints],
    ranks: Sequence[Ints],
    n_labels: int,
    column: int,
    n_tags: int,
) -> tuple[Longs, Longs]:
    """The kinds of arcs that occur with a known label, ascending, and the counts of labels of each,
    (kinds, labels).

    Kinds that do not occur have no row: 600 tags make 720,000 kinds.
    """
    found = [np.zeros(0, dtype=np.int64)]
    for values, correct, labels in zip(sentences, heads, ranks, strict=True):
        tags = values[:, column].astype(np.int64)
        dependents = np.arange(1, len(tags))
        kinds = 2 * (tags[correct] * n_tags + tags[dependents]) + (correct < dependents)
        known = labels != NO_LABEL
        found.append(kinds[known] * n_labels + labels[known])
    keys, times = np.unique(np.concatenate(found), return_counts=True)
    kinds, rows = np.unique(keys // n_labels, return_inverse=True)
    counts = np.zeros((len(kinds), n_labels), dtype=np.int64)
    counts[rows, keys % n_labels] = times
    return kinds, counts


def _frequent(counts: Longs) -> list[int]:
    """The candidate labels by their counts, (labels,); one at least."""
    order = np.argsort(-counts, kind="stable")[:_MAX_LABELS]
    frequent = counts[order] >= max(1.0, _MIN_SHARE * counts[order[0]])
    candidates: list[int] = (order[frequent] if frequent.any() else order[:1]).tolist()
    return candidates


def _candidates_of(dictionary: ArcLabelDictionary, kind: int, n_tags: int) -> list[int]:
    """The candidates for a kind of arcs, numbered with ``n_tags`` tags; none if one of its tags is
    not in the dictionary.
    """
    pair, direction = divmod(kind, 2)
    head, dependent = divmod(pair, n_tags)
    if max(head, dependent) >= dictionary.n_tags:
        return []
    kind = 2 * (head * dictionary.n_tags + dependent) + direction
    ranks: list[int] = dictionary.labels[
        dictionary.starts[kind] : dictionary.starts[kind + 1]
    ].tolist()
    return ranks


@njit(separate=True)
def candidate_labels(
    values: Ints, graph: ArcGraph, dictionary: ArcLabelDictionary, every_arc: bool
) -> ArcLabels:
    """The candidate labels of the arcs of one sentence, row 0 of ``values`` being the root.

    The only arc into a word is in every tree, so that its labels decide nothing between trees: it
    has none unless ``every_arc`` has some.
    """
    arcs, into = graph.arcs, graph.into
    m = arcs.shape[0]
    starts = np.zeros(m + 1, dtype=np.int32)
    for a in range(m):
        kind, dependent = _kind(values, arcs[a], dictionary), arcs[a, 1]
        starts[a + 1] = starts[a]
        if every_arc or into[dependent + 1] - into[dependent] > 1:
            starts[a + 1] += dictionary.starts[kind + 1] - dictionary.starts[kind]
    labels = np.empty(starts[m], dtype=np.uint8)
    for a in range(m):
        first = dictionary.starts[_kind(values, arcs[a], dictionary)]
        for k in range(starts[a + 1] - starts[a]):
            labels[starts[a] + k] = dictionary.labels[first + k]
    return ArcLabels(labels, starts)


@njit
def with_correct(candidates: ArcLabels, arcs: Shorts, heads: Ints, ranks: Ints) -> ArcLabels:
    """The candidates, among which each correct arc has its correct label: where it is missing, it
    replaces the last candidate.

    The arcs into a word whose label is unknown (``NO_LABEL``) get no candidates, as all of them
    would count as wrong.
    """
    labels = np.empty_like(candidates.labels)
    starts = np.zeros_like(candidates.starts)
    for a in range(arcs.shape[0]):
        dependent = arcs[a, 1]
        rank, first, end = ranks[dependent - 1], starts[a], starts[a]
        if rank != NO_LABEL:
            end += candidates.starts[a + 1] - candidates.starts[a]
            copy_numbers(
                candidates.labels[candidates.starts[a] : candidates.starts[a + 1]],
                labels[first:end],
            )
        starts[a + 1] = end
        if first == end or heads[dependent - 1] != arcs[a, 0]:
            continue
        is_there = False
        for k in range(first, end):
            is_there = is_there or labels[k] == rank
        if not is_there:
            labels[end - 1] = rank
    return ArcLabels(labels[: starts[arcs.shape[0]]].copy(), starts)


@njit
def _kind(values: Ints, arc: Shorts, dictionary: ArcLabelDictionary) -> int:
    """2 (head tag * n_tags + dependent tag) + 1 for an arc to the right; unknown tags are 0."""
    head = values[arc[0], dictionary.column]
    dependent = values[arc[1], dictionary.column]
    n = dictionary.n_tags
    head, dependent = head if head < n else 0, dependent if dependent < n else 0
    return int(2 * (head * n + dependent) + (1 if arc[0] < arc[1] else 0))
