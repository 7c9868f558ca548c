"""The candidate labels of an arc: those seen on arcs with the same tags and direction.

Labels are without subtypes and numbered by descending frequency in training. They help to find the
tree and are summed out; the labels in the output are those of the labeller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.arcs import ArcLabels
from egparse.sentences import MISSING
from egparse.types import Ints, Longs, Shorts, UInt8s

NO_LABEL = -1
"""The rank of an unknown label."""

_MIN_SHARE = 0.004
"""A candidate label has at least this share of the count of the most frequent label of its kind of
arcs.
"""

_MAX_LABELS = 8
"""Of one kind of arcs."""

MOST_LABELS = 255
"""Labels that have a rank."""


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
    kinds, counts = _count(sentences, heads, ranks, n_labels, column, n_tags)
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


def _count(
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
def candidate_labels(values: Ints, arcs: Shorts, dictionary: ArcLabelDictionary) -> ArcLabels:
    """The candidate labels of the arcs of one sentence, row 0 of ``values`` being the root."""
    m = arcs.shape[0]
    starts = np.zeros(m + 1, dtype=np.int32)
    for a in range(m):
        kind = _kind(values, arcs[a], dictionary)
        starts[a + 1] = starts[a] + dictionary.starts[kind + 1] - dictionary.starts[kind]
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
