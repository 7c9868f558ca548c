"""Weights of (attribute, label) pairs laid out for training, where the same words are visited again
and again.

Rows that hold at least a quarter of the labels are *dense*: padded to a common width, with a mask
of their support, they are added as vectors. All other weights are *sparse*: each word lists the
indices and labels of the weights that its candidates use, and weights are numbered in the order of
the first word that uses them, so that most weights of a sentence lie close together. Where labels
are divided, frequent attributes have all *common* parts, whatever they were seen with. In their
rows these come first, in one order: a word lists the rows, and once the columns that it uses, which
takes a third of the memory. Weights are float64: frequent ones change millions of times, and the
rounding of each change would make v deviate from its dual expression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.sequence import SPARSITY, WHOLE_LABELS, LabelParts, WeightRows
from egparse.types import Floats, Ints, Longs, Mask, UInt16s, UInt32s

_MAX_DENSE_LABELS = 64  # with more labels a padded row is mostly zeros
_SEARCH = 4  # a search for a label takes as long as so many cells of a row


class PackedRows(NamedTuple):
    """Word ``k`` has the dense rows ``dense_rows[dense_starts[k]:dense_starts[k + 1]]`` and, for
    ``r`` from ``pair_starts[k]`` up to ``pair_starts[k + 1]``, the weights
    ``sparse[pair_places[r]]`` of the labels ``pair_labels[r]``. It also has rows with all common
    labels, which begin at ``bases[base_starts[k]:base_starts[k + 1]]`` in ``sparse``, and uses in
    each of them the columns ``common.columns[common.starts[k]:common.starts[k + 1]]``, whose labels
    are ``common.labels`` there.

    ``dense`` and ``masks`` are (rows, width), with width 0 if there are too many labels; masks are
    1 on the support and 0 elsewhere. The last cell of ``pair_places`` and ``pair_labels`` is not
    used. Where labels are ``divided``, all this holds of their parts.
    """

    dense: Floats
    masks: Floats
    sparse: Floats
    dense_starts: Longs
    dense_rows: UInt32s
    pair_starts: Longs
    pair_places: UInt32s
    pair_labels: UInt16s
    base_starts: Longs
    bases: UInt32s
    common: Common
    divided: LabelParts


class Common(NamedTuple):
    """The common labels that each word uses; see ``PackedRows``."""

    starts: Longs
    columns: UInt16s
    labels: UInt16s


class Placement(NamedTuple):
    """Where the weights of attribute a are: ``dense[a]`` is its row, or -1; ``sparse[a]`` is the
    index of its first sparse weight, or -1 (dense or unused). ``has_common[a]`` says whether the
    common labels come first there, at their ``columns`` (labels,), -1 for other labels.
    """

    dense: Ints
    sparse: Longs
    has_common: Mask
    columns: Ints


def place(
    attributes: Ints, rows: WeightRows, n_labels: int, is_common: Mask | None = None
) -> Placement:
    """Choose the dense rows, and number the sparse weights by first use; ``attributes`` is (words,
    templates), -1 where absent. Without ``is_common`` (labels,) no label is common.
    """
    sizes = np.diff(rows.starts)
    is_long = sizes * SPARSITY >= n_labels
    if n_labels > _MAX_DENSE_LABELS:
        is_long[:] = False
    is_dense = np.zeros(len(sizes), dtype=np.bool_)
    sparse = np.full(len(sizes), -1, dtype=np.int64)
    _number_by_first_use(attributes, rows.starts, is_long, is_dense, sparse)
    dense = np.where(is_dense, np.cumsum(is_dense) - 1, -1).astype(np.int32)
    columns, has_common = np.full(n_labels, -1, dtype=np.int32), np.zeros_like(is_dense)
    if is_common is not None and is_common.any():
        columns[is_common] = np.arange(is_common.sum())
        before = np.concatenate([[0], np.cumsum(is_common[rows.labels])])
        has_common = (sparse >= 0) & (np.diff(before[rows.starts]) == is_common.sum())
    return Placement(dense, sparse, has_common, columns)


def sparse_rows(rows: WeightRows, placement: Placement) -> Used:
    """The labels of each row that are not at columns of common ones."""
    of_common = np.repeat(placement.has_common, np.diff(rows.starts))
    rest = ~(of_common & (placement.columns[rows.labels] >= 0))
    before = np.concatenate([[0], np.cumsum(rest)])
    return Used(rows.labels[rest], before[rows.starts])


@njit
def _number_by_first_use(
    attributes: Ints, starts: Ints, is_long: Mask, is_dense: Mask, sparse: Longs
) -> None:
    """Mark the long rows that are used, and number the weights of the others."""
    total = 0
    for k in range(attributes.shape[0]):
        for a in attributes[k]:
            if a >= 0 and is_long[a]:
                is_dense[a] = True
            elif a >= 0 and sparse[a] < 0:
                sparse[a] = total
                total += starts[a + 1] - starts[a]


def pack(
    attributes: Ints,
    rows: WeightRows,
    placement: Placement,
    candidates: UInt16s,
    candidate_starts: Longs,
    n_labels: int,
    divided: LabelParts = WHOLE_LABELS,
) -> PackedRows:
    """Lay out the rows for these words, with all weights zero.

    Word ``k`` has the candidates ``candidates[candidate_starts[k]:candidate_starts[k + 1]]``.
    Where labels are ``divided``, ``n_labels`` is the number of their parts. A part that all
    candidates of a word share is left out there: it cannot change which of them is chosen.
    """
    width = -(-n_labels // 8) * 8 if n_labels <= _MAX_DENSE_LABELS else 0
    masks = np.zeros((int((placement.dense >= 0).sum()), width))
    _fill_masks(placement.dense, rows.starts, rows.labels, masks)
    if len(divided.starts):
        used = parts_that_differ(candidates, candidate_starts, divided, n_labels)
    else:
        used = Used(candidates, candidate_starts)
    is_common = placement.columns[used.labels] >= 0
    before = np.concatenate([[0], np.cumsum(is_common)])
    labels = used.labels[is_common]
    common = Common(before[used.starts], placement.columns[labels].astype(np.uint16), labels)
    rest, is_used = sparse_rows(rows, placement), np.zeros(n_labels, dtype=np.bool_)
    counts = np.zeros((3, len(attributes) + 1), dtype=np.int64)
    _count(attributes, placement, rest, used, is_used, counts)
    dense_starts, pair_starts, base_starts = np.cumsum(counts, axis=1)
    packed = PackedRows(
        np.zeros_like(masks),
        masks,
        np.zeros(int(np.diff(rows.starts)[placement.sparse >= 0].sum())),
        dense_starts,
        np.empty(dense_starts[-1], dtype=np.uint32),
        pair_starts,
        np.empty(pair_starts[-1] + 1, dtype=np.uint32),
        np.empty(pair_starts[-1] + 1, dtype=np.uint16),
        base_starts,
        np.empty(base_starts[-1], dtype=np.uint32),
        common,
        divided,
    )
    _fill(attributes, placement, rest, used, is_used, packed)
    return packed


def rows_of_words(packed: PackedRows, first: int, end: int) -> PackedRows:
    """The rows of the words from ``first`` up to ``end``, numbered from 0; all are views."""
    dense_starts = packed.dense_starts[first : end + 1]
    pair_starts = packed.pair_starts[first : end + 1]
    pairs = slice(int(pair_starts[0]), int(pair_starts[-1]) + 1)
    base_starts = packed.base_starts[first : end + 1]
    starts, columns, labels = packed.common
    starts = starts[first : end + 1]
    of_common = slice(int(starts[0]), int(starts[-1]))
    return packed._replace(
        dense_starts=dense_starts - dense_starts[0],
        dense_rows=packed.dense_rows[dense_starts[0] : dense_starts[-1]],
        pair_starts=pair_starts - pair_starts[0],
        pair_places=packed.pair_places[pairs],
        pair_labels=packed.pair_labels[pairs],
        base_starts=base_starts - base_starts[0],
        bases=packed.bases[base_starts[0] : base_starts[-1]],
        common=Common(starts - starts[0], columns[of_common], labels[of_common]),
    )


class Used(NamedTuple):
    """The labels, or parts of labels, whose weights word k uses, ascending:
    ``labels[starts[k]:starts[k + 1]]``.
    """

    labels: UInt16s
    starts: Longs


def parts_that_differ(
    candidates: UInt16s, candidate_starts: Longs, divided: LabelParts, n_parts: int
) -> Used:
    """The parts that some, but not all, of the candidates of each word have, ascending."""
    starts = np.zeros(len(candidate_starts), dtype=np.int64)
    counts = np.zeros(n_parts, dtype=np.int64)
    parts = np.empty(0, dtype=np.uint16)
    for _ in range(2):  # count, then fill
        _find_differing(candidates, candidate_starts, divided, counts, starts, parts)
        if not len(parts):
            parts = np.empty(int(starts[-1]), dtype=np.uint16)
    return Used(parts, starts)


@njit
def _find_differing(
    candidates: UInt16s,
    candidate_starts: Longs,
    divided: LabelParts,
    counts: Longs,
    starts: Longs,
    parts: UInt16s,
) -> None:
    """Write the parts of each word to ``parts`` unless it is empty, and their bounds to ``starts``;
    ``counts`` is zero between words.
    """
    of_labels, part_starts = divided.parts, divided.starts
    total, fills = 0, parts.shape[0] > 0
    for k in range(candidate_starts.shape[0] - 1):
        first, end = candidate_starts[k], candidate_starts[k + 1]
        for c in range(first, end):
            for r in range(part_starts[candidates[c]], part_starts[candidates[c] + 1]):
                counts[of_labels[r]] += 1
        for c in range(first, end):
            for r in range(part_starts[candidates[c]], part_starts[candidates[c] + 1]):
                if 0 < counts[of_labels[r]] < end - first:
                    if fills:
                        parts[total] = of_labels[r]
                    total += 1
                counts[of_labels[r]] = 0
        if fills:
            _sort(parts[starts[k] : total])
        starts[k + 1] = total


@njit
def _sort(numbers: UInt16s) -> None:
    for r in range(1, numbers.shape[0]):
        number, place = numbers[r], r
        while place > 0 and numbers[place - 1] > number:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = number


def unpack(packed: PackedRows, placement: Placement, rows: WeightRows) -> None:
    """Copy the packed weights to ``rows``."""
    _unpack(packed.dense, packed.sparse, placement, rows)


@njit
def _fill_masks(dense: Ints, starts: Ints, labels: UInt16s, masks: Floats) -> None:
    for a in range(dense.shape[0]):
        if dense[a] >= 0:
            for r in range(starts[a], starts[a + 1]):
                masks[dense[a], labels[r]] = 1.0


@njit
def _count(
    attributes: Ints,
    placement: Placement,
    rest: Used,
    used: Used,
    is_used: Mask,
    counts: Longs,
) -> None:
    """Count the dense rows of word k in ``counts[0, k + 1]``, its pairs in ``counts[1, k + 1]``,
    and its rows with common labels in ``counts[2, k + 1]``.
    """
    dense, has_common, columns = placement.dense, placement.has_common, placement.columns
    for k in range(attributes.shape[0]):
        of_word = used.labels[used.starts[k] : used.starts[k + 1]]
        if of_word.shape[0] == 0:  # nothing to choose
            continue
        for c in range(of_word.shape[0]):
            is_used[of_word[c]] = True
        for a in attributes[k]:
            if a < 0 or dense[a] >= 0:
                counts[0, k + 1] += a >= 0
                continue
            counts[2, k + 1] += has_common[a]
            begin, end = rest.starts[a], rest.starts[a + 1]
            if end - begin > _SEARCH * of_word.shape[0]:
                for c in range(of_word.shape[0]):
                    if not has_common[a] or columns[of_word[c]] < 0:
                        counts[1, k + 1] += _find(of_word[c], rest.labels, begin, end) >= 0
            else:
                for r in range(begin, end):
                    counts[1, k + 1] += is_used[rest.labels[r]]
        for c in range(of_word.shape[0]):
            is_used[of_word[c]] = False


@njit
def _fill(
    attributes: Ints,
    placement: Placement,
    rest: Used,
    used: Used,
    is_used: Mask,
    packed: PackedRows,
) -> None:
    dense, has_common, columns = placement.dense, placement.has_common, placement.columns
    dense_rows, places, pair_labels = packed.dense_rows, packed.pair_places, packed.pair_labels
    bases, labels, n_common = packed.bases, rest.labels, 0
    for label in range(columns.shape[0]):
        n_common = max(n_common, columns[label] + 1)
    row, pair, base = 0, 0, 0
    for k in range(attributes.shape[0]):
        of_word = used.labels[used.starts[k] : used.starts[k + 1]]
        if of_word.shape[0] == 0:  # nothing to choose
            continue
        for c in range(of_word.shape[0]):
            is_used[of_word[c]] = True
        for a in attributes[k]:
            if a < 0 or dense[a] >= 0:
                if a >= 0:
                    dense_rows[row] = dense[a]
                    row += 1
                continue
            begin, end = rest.starts[a], rest.starts[a + 1]
            shift = placement.sparse[a] - begin
            if has_common[a]:
                bases[base] = placement.sparse[a]
                base += 1
                shift += n_common
            # written in any case, and kept if it is used: a branch would be mispredicted every few
            # weights
            if end - begin > _SEARCH * of_word.shape[0]:
                for c in range(of_word.shape[0]):
                    if not has_common[a] or columns[of_word[c]] < 0:
                        found = _find(of_word[c], labels, begin, end)
                        places[pair] = shift + found
                        pair_labels[pair] = of_word[c]
                        pair += found >= 0
            else:
                for r in range(begin, end):
                    places[pair] = shift + r
                    pair_labels[pair] = labels[r]
                    pair += is_used[labels[r]]
        for c in range(of_word.shape[0]):
            is_used[of_word[c]] = False


@njit
def _find(label: int, labels: UInt16s, first: int, end: int) -> int:
    """The place of a label among the ascending ``labels[first:end]``, -1 where it is not there."""
    low, high = first, min(end - 1, first + label)
    while low < high:
        middle = (low + high) // 2
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if labels[low] == label else -1


@njit
def _unpack(dense: Floats, sparse: Floats, placement: Placement, rows: WeightRows) -> None:
    starts, labels, weights = rows.starts, rows.labels, rows.weights
    columns, n_common = placement.columns, 0
    for label in range(columns.shape[0]):
        n_common = max(n_common, columns[label] + 1)
    for a in range(placement.dense.shape[0]):
        row, first = placement.dense[a], placement.sparse[a]
        rest = first + (n_common if placement.has_common[a] else 0)
        for r in range(starts[a], starts[a + 1]):
            if row >= 0:
                weights[r] = dense[row, labels[r]]
            elif first >= 0 and placement.has_common[a] and columns[labels[r]] >= 0:
                weights[r] = sparse[first + columns[labels[r]]]
            elif first >= 0:
                weights[r] = sparse[rest]
                rest += 1


@njit(fast=True)
def score_words(
    rows: PackedRows, first: int, starts: Ints, candidates: UInt16s, buffer: Floats, scores: Floats
) -> None:
    """Score the candidates of the words from ``first`` on, one sentence: ``starts``, ``candidates``
    and ``scores`` as in ``sequences.scoring.score_words``.

    ``buffer`` has room for every label, or part of one, and for a dense row.
    """
    dense, sparse = rows.dense, rows.sparse
    part_starts, parts = rows.divided.starts, rows.divided.parts
    dense_starts, pair_starts = rows.dense_starts, rows.pair_starts
    dense_rows, pair_places, pair_labels = rows.dense_rows, rows.pair_places, rows.pair_labels
    base_starts, bases, common = rows.base_starts, rows.bases, rows.common
    width = dense.shape[1]
    for k in range(starts.shape[0] - 1):
        labels_of_word = candidates[starts[k] : starts[k + 1]]
        out = scores[starts[k] : starts[k + 1]]
        for q in range(width):
            buffer[q] = 0.0
        if width == 0 and part_starts.shape[0] == 0:
            for c in range(labels_of_word.shape[0]):
                buffer[labels_of_word[c]] = 0.0
        elif width == 0:
            for c in range(labels_of_word.shape[0]):
                label = labels_of_word[c]
                for r in range(part_starts[label], part_starts[label + 1]):
                    buffer[parts[r]] = 0.0
        # slices of unsigned indices spare numba the test for negative indices
        for row in dense_rows[dense_starts[first + k] : dense_starts[first + k + 1]]:
            weights = dense[row]
            for q in range(width):
                buffer[q] += weights[q]
        columns = common.columns[common.starts[first + k] : common.starts[first + k + 1]]
        labels = common.labels[common.starts[first + k] : common.starts[first + k + 1]]
        rows_of_word = bases[base_starts[first + k] : base_starts[first + k + 1]]
        for r in range(columns.shape[0]):
            score, column = 0.0, columns[r]
            for base in rows_of_word:
                score += sparse[base + column]
            buffer[labels[r]] += score
        places = pair_places[pair_starts[first + k] : pair_starts[first + k + 1]]
        labels = pair_labels[pair_starts[first + k] : pair_starts[first + k + 1]]
        for r in range(places.shape[0]):
            buffer[labels[r]] += sparse[places[r]]
        if part_starts.shape[0] == 0:
            for c in range(labels_of_word.shape[0]):
                out[c] = buffer[labels_of_word[c]]
        else:
            for c in range(labels_of_word.shape[0]):
                label, score = labels_of_word[c], 0.0
                for r in range(part_starts[label], part_starts[label + 1]):
                    score += buffer[parts[r]]
                out[c] = score


@njit(fast=True)
def add_words(
    rows: PackedRows, first: int, starts: Ints, candidates: UInt16s, buffer: Floats, changes: Floats
) -> float:
    """Add ``changes``, laid out as the scores of ``score_words``, times the features of each
    candidate to the weights.

    Returns the change of the squared norm of the weights, summed over their changes as (new -
    old)(new + old). ``buffer`` must be zero on entry and is zero on return.
    """
    dense, masks, sparse = rows.dense, rows.masks, rows.sparse
    dense_starts, pair_starts, dense_rows = rows.dense_starts, rows.pair_starts, rows.dense_rows
    pair_places, pair_labels = rows.pair_places, rows.pair_labels
    base_starts, bases, common = rows.base_starts, rows.bases, rows.common
    part_starts, parts = rows.divided.starts, rows.divided.parts
    width = dense.shape[1]
    norm_change = 0.0
    for k in range(starts.shape[0] - 1):
        labels_of_word = candidates[starts[k] : starts[k + 1]]
        change = changes[starts[k] : starts[k + 1]]
        total_change = 0.0
        for c in range(labels_of_word.shape[0]):
            label = labels_of_word[c]
            if part_starts.shape[0] == 0:
                buffer[label] = change[c]
            else:
                for r in range(part_starts[label], part_starts[label + 1]):
                    buffer[parts[r]] += change[c]
            total_change += abs(change[c])
        if total_change > 0.0:
            for row in dense_rows[dense_starts[first + k] : dense_starts[first + k + 1]]:
                weights, mask = dense[row], masks[row]
                for q in range(width):
                    old = weights[q]
                    new = old + buffer[q] * mask[q]
                    weights[q] = new
                    norm_change += (new - old) * (new + old)
            columns = common.columns[common.starts[first + k] : common.starts[first + k + 1]]
            labels = common.labels[common.starts[first + k] : common.starts[first + k + 1]]
            rows_of_word = bases[base_starts[first + k] : base_starts[first + k + 1]]
            for r in range(columns.shape[0]):
                column, by = columns[r], buffer[labels[r]]
                if by != 0.0:
                    for base in rows_of_word:
                        old = sparse[base + column]
                        new = old + by
                        sparse[base + column] = new
                        norm_change += (new - old) * (new + old)
            places = pair_places[pair_starts[first + k] : pair_starts[first + k + 1]]
            labels = pair_labels[pair_starts[first + k] : pair_starts[first + k + 1]]
            for r in range(places.shape[0]):
                old = sparse[places[r]]
                new = old + buffer[labels[r]]
                sparse[places[r]] = new
                norm_change += (new - old) * (new + old)
        for c in range(labels_of_word.shape[0]):
            label = labels_of_word[c]
            if part_starts.shape[0] == 0:
                buffer[label] = 0.0
            else:
                for r in range(part_starts[label], part_starts[label + 1]):
                    buffer[parts[r]] = 0.0
    return norm_change
