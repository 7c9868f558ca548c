"""Which labels an arc may have: those seen on arcs with the same tags and direction.

Labels are ranks by frequency in training, without subtypes: they help to find the tree, and are not
what is predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.labelled_arcs import ArcLabels
from egparse.sentences import MISSING
from egparse.types import Ints, Shorts, UInt8s

NO_LABEL = -1

_LEAST_SHARE = 0.004
"""A label this much rarer than the most frequent one of such arcs is no candidate."""

_MOST = 8


class ArcLabelDictionary(NamedTuple):
    """Ranks ``labels[starts[k]:starts[k + 1]]`` for arcs of kind k, see ``_kind``, the most
    frequent first.

    ``column`` is that of the tags, ``n_tags`` how many are known.
    """

    labels: UInt8s
    starts: Ints
    column: int
    n_tags: int


def rank_labels(deprels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Labels without subtypes, the most frequent first; at most 255. ``MISSING`` is none."""
    counts = Counter(
        label.partition(":")[0] for own in deprels for label in own if label != MISSING
    )
    return tuple(
        label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )[:255]


def label_ranks(
    deprels: Sequence[Sequence[str]], ranked: Sequence[str], lengths: Sequence[int]
) -> list[Ints]:
    """The rank of each word's label, ``NO_LABEL`` where it is unknown or the sentence brings no
    labels for its ``lengths[i]`` words.
    """
    places = {label: rank for rank, label in enumerate(ranked)}
    return [
        np.array(
            [places.get(label.partition(":")[0], NO_LABEL) for label in own or ("",) * n],
            dtype=np.int32,
        )
        for own, n in zip(deprels, lengths, strict=True)
    ]


def build_dictionary(
    sentences: Sequence[Ints],
    heads: Sequence[Ints],
    ranks: Sequence[Ints],
    n_labels: int,
    column: int,
    base: ArcLabelDictionary | None = None,
) -> ArcLabelDictionary:
    """Count over training sentences, whose rows are words after one row for the root.

    With a ``base``, over the same tags and the first of the ranks, its candidates come first,
    whatever is seen.
    """
    n_tags = 1 + max((int(own[:, column].max()) for own in sentences), default=0)
    n_tags = n_tags if base is None else max(n_tags, base.n_tags)
    counts = np.zeros((2 * n_tags * n_tags, n_labels), dtype=np.int64)
    for own, own_heads, own_ranks in zip(sentences, heads, ranks, strict=True):
        tags = own[:, column].astype(np.int64)
        dependents = np.arange(1, len(tags))
        kinds = 2 * (tags[own_heads] * n_tags + tags[dependents]) + (own_heads < dependents)
        known = own_ranks != NO_LABEL
        np.add.at(counts, (kinds[known], own_ranks[known]), 1)
    if n_labels == 0:
        none = np.zeros(len(counts) + 1, dtype=np.int32)
        return ArcLabelDictionary(np.zeros(0, dtype=np.uint8), none, column, n_tags)
    by_dependent = counts.reshape(n_tags, n_tags, 2, n_labels).sum(axis=(0, 2))
    rows = []
    for kind in range(len(counts)):
        own_counts = counts[kind]
        brought = [] if base is None else _candidates_of(base, kind, n_tags)
        if brought and not own_counts.any():
            rows.append(np.array(brought))
            continue
        if not own_counts.any():  # never seen: what the dependent's tag has elsewhere
            own_counts = by_dependent[kind // 2 % n_tags]
        order = np.argsort(-own_counts, kind="stable")[:_MOST]
        wanted = own_counts[order] >= max(1.0, _LEAST_SHARE * own_counts[order[0]])
        found = (order[wanted] if wanted.any() else order[:1]).tolist()
        rows.append(np.array([*brought, *(label for label in found if label not in brought)]))
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    return ArcLabelDictionary(np.concatenate(rows).astype(np.uint8), starts, column, n_tags)


def _candidates_of(dictionary: ArcLabelDictionary, kind: int, n_tags: int) -> list[int]:
    """The candidates for arcs of a kind that is numbered for ``n_tags`` tags; none for tags that
    the dictionary does not know.
    """
    pair, direction = divmod(kind, 2)
    head, dependent = divmod(pair, n_tags)
    if max(head, dependent) >= dictionary.n_tags:
        return []
    own = 2 * (head * dictionary.n_tags + dependent) + direction
    ranks: list[int] = dictionary.labels[
        dictionary.starts[own] : dictionary.starts[own + 1]
    ].tolist()
    return ranks


@njit
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
    """The candidates and, for correct arcs, the correct label, in the place of the last one if it
    is not among them.

    The arcs into a word whose label is unknown, ``NO_LABEL``, have none: any one would have to be
    wrong.
    """
    labels = np.empty_like(candidates.labels)
    starts = np.zeros_like(candidates.starts)
    for a in range(arcs.shape[0]):
        dependent = arcs[a, 1]
        rank, first, end = ranks[dependent - 1], starts[a], starts[a]
        if rank != NO_LABEL:
            end += candidates.starts[a + 1] - candidates.starts[a]
            labels[first:end] = candidates.labels[candidates.starts[a] : candidates.starts[a + 1]]
        starts[a + 1] = end
        if first == end or heads[dependent - 1] != arcs[a, 0]:
            continue
        found = False
        for k in range(first, end):
            found = found or labels[k] == rank
        if not found:
            labels[end - 1] = rank
    return ArcLabels(labels[: starts[arcs.shape[0]]].copy(), starts)


@njit
def _kind(values: Ints, arc: Shorts, dictionary: ArcLabelDictionary) -> int:
    head = values[arc[0], dictionary.column]
    dependent = values[arc[1], dictionary.column]
    n = dictionary.n_tags
    head, dependent = head if head < n else 0, dependent if dependent < n else 0
    return int(2 * (head * n + dependent) + (1 if arc[0] < arc[1] else 0))
