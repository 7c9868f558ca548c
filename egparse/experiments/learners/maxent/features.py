"""A multiclass problem as sparse features of contexts and labels, and sums over all contexts.

Model (Huang et al. 2009, eq. 1):  P_w(y | x) = exp(sum_t w_t f_t(x, y)) / T_w(x). Objective (ibid.,
eq. 3), in nats:  L(w) = sum_x log T_w(x) - sum_t w_t p~(f_t) + C/2 |w|^2,  C = 1 / sigma^2.

A context x is one training example, so that p~ counts examples. Feature t is an attribute with a
label: f_t(x, y) is the value of the attribute in x if y is that label, else 0. A feature is
non-zero in the contexts of its attribute, whatever the label, so that contexts are stored once for
each attribute, and features are a list of labels for each attribute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from egparse.compilation import njit
from egparse.errors import ConfigError, EgparseError
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Mask


class Features(NamedTuple):
    """m contexts, A attributes, n features, L labels; the features of attribute a are
    ``feature_starts[a]:feature_starts[a + 1]``, with ``labels`` (n) that ascend.

    Attributes by context: ``row_starts`` (m + 1), ``row_attributes``, ``row_values``; contexts by
    attribute: ``column_starts`` (A + 1), ``column_contexts``, ``column_values``, of which
    ``greatest`` (A) are the maxima. ``observed`` (n) is p~(f_t). ``allowed`` (m, L) says which
    labels a context may have, (0, 0) for all: P(y | x) of the others is 0.
    """

    row_starts: Longs
    row_attributes: Longs
    row_values: Floats
    column_starts: Longs
    column_contexts: Longs
    column_values: Floats
    greatest: Floats
    feature_starts: Longs
    labels: Longs
    observed: Floats
    allowed: Mask
    context_count: int
    label_count: int


def features_of(learner: str, problem: Problem) -> Features:
    """The features behind the scores of a problem, in the order of its design matrix.

    Raises:
        ConfigError: a problem that is not multiclass.
        EgparseError: attributes with negative values, which bounds of iterative scaling exclude.
    """
    fits = f"{learner} fits choices made one by one (multiclass problems)"
    if not problem.offers("design"):
        raise ConfigError(f"{fits}; {type(problem).__name__} has no design matrix")
    design = problem.design()
    if design.bigrams:
        raise ConfigError(
            f"{fits}; this problem has weights of label bigrams (set bigrams = false to do without)"
        )
    m = len(design.labels)
    parts = design.values, design.attributes, design.row_starts
    rows = csr_matrix(parts, shape=(m, design.attribute_count), copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.all((rows.data >= 0) & (rows.data < np.inf)):
        raise EgparseError(f"{learner}: expected finite attribute values of at least 0, got others")
    correct = csr_matrix((np.ones(m), design.labels, np.arange(m + 1)), (m, design.label_count))
    together = rows.T @ correct  # summed values of attributes, by label
    return Features(
        *_arrays(rows),
        *_arrays(rows.tocsc()),
        rows.max(axis=0).toarray().ravel(),
        design.pair_starts,
        design.pair_labels,
        np.asarray(together[design.pair_attributes(), design.pair_labels]).ravel(),
        np.zeros((0, 0), dtype=np.bool_) if design.candidates is None else design.candidates,
        m,
        design.label_count,
    )


def _arrays(matrix: Any) -> tuple[Longs, Longs, Floats]:
    starts, places = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return starts, places, matrix.data.astype(np.float64)


@njit
def loss_and_expectations(
    features: Features, w: Floats, probabilities: Floats, expected: Floats
) -> float:
    """Write sum_{x,y} P_w(y | x) f_t(x, y) of every feature into ``expected`` (n); returns
    sum_x log T(x). O(#nz + L m).

    ``probabilities`` (m, L) receives P_w(y | x); with a single row (1, L) it is room for one
    context after the other.
    """
    expected[:] = 0.0
    total = 0.0
    last = probabilities.shape[0] - 1
    for k in range(features.context_count):
        scores = probabilities[min(k, last)]
        score_context(features, w, k, scores, -np.inf)
        shift, mass = exponentiate(scores)
        scores /= mass
        total += shift + np.log(mass)
        add_context(features, k, scores, expected)
    return total


@njit
def exponentiate(scores: Floats) -> tuple[float, float]:
    """Replace scores by exp(score - the highest); returns the highest one and the sum."""
    shift, mass = scores.max(), 0.0
    for y in range(scores.shape[0]):
        scores[y] = np.exp(scores[y] - shift)
        mass += scores[y]
    return shift, mass


@njit
def hessian_product(
    features: Features, probabilities: Floats, v: Floats, scores: Floats, out: Floats
) -> None:
    """Write the Hessian of sum_x log T(x) times v into ``out`` (n): for each context the covariance
    of the features under P(. | x), applied to v.
    """
    out[:] = 0.0
    for k in range(features.context_count):
        score_context(features, v, k, scores, 0.0)
        # sum_y' (diag(P) - P P')_{y y'} v . f(x, y')
        scores[:] = probabilities[k] * (scores - (probabilities[k] * scores).sum())
        add_context(features, k, scores, out)


@njit
def feature_totals(features: Features) -> Floats:
    """f#(x, y) = sum_t f_t(x, y) (ibid., section 2.2), (L, m)."""
    totals = np.empty((features.label_count, features.context_count))
    ones = np.ones(features.labels.shape[0])
    for k in range(features.context_count):
        score_context(features, ones, k, totals[:, k], 0.0)
    return totals


@njit
def score_context(features: Features, w: Floats, k: int, scores: Floats, others: float) -> None:
    """Write w . f(x, y) of context k for every label that it may have into ``scores`` (L), and
    ``others`` for the labels that it may not have.
    """
    scores[:] = 0.0
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a, value = features.row_attributes[j], features.row_values[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            scores[features.labels[t]] += w[t] * value
    for y in range(features.allowed.shape[1]):
        if not features.allowed[k, y]:
            scores[y] = others


@njit
def add_context(features: Features, k: int, by_label: Floats, out: Floats) -> None:
    """out_t += sum_y by_label[y] f_t(x, y) for context k."""
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a, value = features.row_attributes[j], features.row_values[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            out[t] += value * by_label[features.labels[t]]
