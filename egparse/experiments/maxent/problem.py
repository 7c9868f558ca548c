"""A maximum-entropy problem: sparse non-negative features of contexts and labels, with their
counts.

Model (Huang et al. 2009, eq. 1):    P_w(y | x) = exp(sum_t w_t f_t(x, y)) / T_w(x). Objective
(ibid., eq. 3), in nats:   L(w) = sum_x p~(x) log T_w(x) - sum_t w_t p~(f_t) + |w|^2 / (2 sigma^2).

Feature t is an attribute of the context together with a label, ``f_t(x, y) = value of the attribute
in x`` if y is that label, else 0; by default only pairs seen in training are features. Here p~(x,
y) are counts, not frequencies, so that L is a sum over training examples and 1 / sigma^2 is the C
of ``egparse.learners.learner``. Equal contexts are merged.

A feature is non-zero in the contexts of its attribute, whatever the label. So attributes are stored
once, by context and by attribute, and features are only a list of labels for each attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError, EgparseError
from egparse.types import Floats, Longs, Mask

_ROWS_AT_ONCE = 4096  # of a prediction, whose scores are dense


class Features(NamedTuple):
    """m contexts, A attributes, n features; the features of attribute a are
    ``feature_starts[a]:feature_starts[a + 1]``.

    Attributes by context (``row_starts`` (m + 1), ``row_attributes``, ``row_values``) and contexts
    by attribute (``column_starts`` (A + 1), ``column_contexts``, ``column_values``); ``labels`` (n)
    ascend within an attribute; ``counts`` (m) are p~(x), ``observed`` (n) are p~(f_t). ``allowed``
    (m, L) says which labels a context may have, (0, 0) for all: P(y | x) of the others is 0.
    """

    row_starts: Longs
    row_attributes: Longs
    row_values: Floats
    column_starts: Longs
    column_contexts: Longs
    column_values: Floats
    feature_starts: Longs
    labels: Longs
    counts: Floats
    observed: Floats
    allowed: Mask


@dataclass(frozen=True)
class MaxentProblem:
    """Features and counts, the number of labels L, and p~(x, y) (m, L), sparse."""

    features: Features
    label_count: int
    label_counts: Any

    @property
    def feature_count(self) -> int:
        """n, the length of w."""
        return len(self.features.labels)

    @property
    def context_count(self) -> int:
        """m, the number of different contexts."""
        return len(self.features.counts)

    @property
    def nonzeros(self) -> int:
        """#nz = sum over x, y of the number of features that are not 0 (ibid., section 1)."""
        return int(np.diff(self.features.column_starts) @ np.diff(self.features.feature_starts))

    def scores(self, weights: Floats, attributes: Any) -> Floats:
        """(rows, L): the score w . f(x, y) of every label, for contexts as a sparse matrix with the
        columns of the training one.
        """
        attribute_count = len(self.features.feature_starts) - 1
        if attributes.shape[1] != attribute_count:
            raise ConfigError(
                f"expected contexts of {attribute_count} attributes, got {attributes.shape[1]}"
            )
        by_label = csr_matrix(
            (weights, self.features.labels, self.features.feature_starts),
            shape=(attribute_count, self.label_count),
        )
        return np.asarray((csr_matrix(attributes) @ by_label).toarray(), dtype=np.float64)

    def predict(self, weights: Floats, attributes: Any) -> Longs:
        """(rows,): the best label of each context, the first of equals."""
        attributes = csr_matrix(attributes)
        best = np.zeros(attributes.shape[0], dtype=np.int64)
        for begin in range(0, len(best), _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            best[rows] = self.scores(weights, attributes[rows]).argmax(axis=1)
        return best

    def accuracy(self, weights: Floats, attributes: Any, labels: Longs) -> float:
        """The fraction of contexts whose best label is the given one."""
        return float(np.mean(self.predict(weights, attributes) == np.asarray(labels)))


def build_maxent(
    attributes: Any,
    labels: npt.ArrayLike,
    *,
    label_count: int | None = None,
    pairs: tuple[Longs, Longs] | None = None,
    candidates: Mask | None = None,
) -> MaxentProblem:
    """A problem from training contexts: ``attributes`` (N, A) sparse, finite and non-negative,
    ``labels`` (N,) from 0.

    ``label_count`` is L, by default the largest label plus 1. ``pairs`` are the features, by
    default the pairs seen: ``feature_starts`` (A + 1) and labels, ascending within an attribute.
    ``candidates`` (N, L) says which labels each context may have; contexts are merged if both
    attributes and candidates are equal.

    Raises:
        EgparseError: no context, negative or non-finite values, or labels, pairs or candidates that
            do not fit.
    """
    matrix = csr_matrix(attributes, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    numbers = np.asarray(labels, dtype=np.int64)
    count = label_count if label_count is not None else int(np.max(numbers, initial=-1)) + 1
    _check(matrix, numbers, count)
    _check_limits(matrix, numbers, count, pairs, candidates)
    total = len(numbers)
    seen = csr_matrix((np.ones(total), numbers, np.arange(total + 1)), shape=(total, count))
    observed = csr_matrix(matrix.T @ seen)  # (A, L): p~(f_t) of the observed pairs
    observed.sort_indices()
    starts, feature_labels = observed.indptr.astype(np.int64), observed.indices.astype(np.int64)
    found = np.asarray(observed.data)
    if pairs is not None:
        found = _looked_up(starts, feature_labels, found, pairs, count)
        starts, feature_labels = pairs
    first, context_of = _unique_rows(matrix, candidates)
    merged = matrix[first]
    columns = merged.tocsc()
    columns.sort_indices()
    by_context, by_attribute = _arrays(merged), _arrays(columns)
    features = Features(
        row_starts=by_context[0],
        row_attributes=by_context[1],
        row_values=by_context[2],
        column_starts=by_attribute[0],
        column_contexts=by_attribute[1],
        column_values=by_attribute[2],
        feature_starts=starts,
        labels=feature_labels,
        counts=np.asarray(np.bincount(context_of, minlength=len(first)), dtype=np.float64),
        observed=found,
        allowed=np.zeros((0, 0), dtype=bool) if candidates is None else candidates[first],
    )
    seen = csr_matrix((np.ones(total), (context_of, numbers)), shape=(len(first), count))
    return MaxentProblem(features, count, seen)


def _arrays(matrix: Any) -> tuple[Longs, Longs, Floats]:
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data.astype(np.float64),
    )


def _looked_up(
    starts: Longs, labels: Longs, values: Floats, pairs: tuple[Longs, Longs], count: int
) -> Floats:
    """The values of ``pairs``, looked up among those of the pairs ``starts`` and ``labels``; 0 for
    a pair that is not among them.
    """
    there = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * count + labels
    wanted = np.repeat(np.arange(len(starts) - 1), np.diff(pairs[0])) * count + pairs[1]
    place = np.minimum(np.searchsorted(there, wanted), max(0, len(there) - 1))
    if not len(there):
        return np.zeros(len(wanted))
    return np.where(there[place] == wanted, values[place], 0.0)


def _unique_rows(matrix: Any, candidates: Mask | None) -> tuple[Longs, Longs]:
    """The first row of each group of equal rows, and the group of each row."""
    kinds: dict[tuple[bytes, bytes, bytes], int] = {}
    first: list[int] = []
    kind_of = np.empty(matrix.shape[0], dtype=np.int64)
    for row in range(matrix.shape[0]):
        cells = slice(matrix.indptr[row], matrix.indptr[row + 1])
        allowed = b"" if candidates is None else candidates[row].tobytes()
        kind = kinds.setdefault(
            (matrix.indices[cells].tobytes(), matrix.data[cells].tobytes(), allowed), len(first)
        )
        if kind == len(first):
            first.append(row)
        kind_of[row] = kind
    return np.array(first, dtype=np.int64), kind_of


def _check(matrix: Any, labels: Longs, label_count: int) -> None:
    if matrix.shape[0] == 0 or labels.shape != (matrix.shape[0],):
        raise EgparseError(
            f"maxent: expected at least one context and a label for each, got {matrix.shape[0]} "
            f"contexts and labels of shape {labels.shape}"
        )
    if labels.min() < 0 or labels.max() >= label_count:
        raise EgparseError(
            f"maxent: expected labels in 0..{label_count - 1}, got {labels.min()}..{labels.max()}"
        )
    if not np.all(np.isfinite(matrix.data)) or matrix.data.min(initial=0.0) < 0:
        raise EgparseError("maxent: expected finite attribute values of at least 0, got others")


def _check_limits(
    matrix: Any,
    labels: Longs,
    label_count: int,
    pairs: tuple[Longs, Longs] | None,
    candidates: Mask | None,
) -> None:
    if pairs is not None and (
        len(pairs[0]) != matrix.shape[1] + 1 or pairs[0][-1] != len(pairs[1])
    ):
        raise EgparseError(
            f"maxent: expected the pairs of {matrix.shape[1]} attributes, got starts of "
            f"{len(pairs[0]) - 1} and {len(pairs[1])} labels"
        )
    if candidates is None:
        return
    if (
        candidates.shape != (len(labels), label_count)
        or not candidates[np.arange(len(labels)), labels].all()
    ):
        raise EgparseError(
            f"maxent: expected candidates of shape {(len(labels), label_count)} with the correct "
            "label of every context, "
            f"got shape {candidates.shape} or a context without"
        )
