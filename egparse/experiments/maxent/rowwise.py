"""The log-linear loss, its gradient and its Hessian context by context, without a table of all
labels and contexts.

What moves all weights at once (GIS, L-BFGS, trust region Newton) needs only sums over contexts. So
a context is scored, its probabilities are added to the sums and forgotten: O(#nz + L m) a pass, in
the order in which contexts lie in memory, with O(n) memory.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.problem import Features
from egparse.types import Floats


@njit
def loss_and_expectations(
    features: Features, w: Floats, probabilities: Floats, expected: Floats
) -> float:
    """Write sum_{x,y} p~(x) P_w(y | x) f_t(x, y) of every feature into ``expected`` (n); returns
    sum_x p~(x) log T(x), nats.

    ``probabilities`` (m, L) receives P_w(y | x) of the m contexts; with a single row (1, L) it is
    room for one context after the other.
    """
    expected[:] = 0.0
    total = 0.0
    last = probabilities.shape[0] - 1
    for k in range(features.counts.shape[0]):
        scores = probabilities[min(k, last)]
        score_context(features, w, k, scores)
        forbid(features, k, scores, -np.inf)
        log_sum = to_probabilities(scores)
        total += features.counts[k] * log_sum
        _add(features, k, features.counts[k], scores, expected)
    return total


@njit
def hessian_product(
    features: Features, probabilities: Floats, v: Floats, scores: Floats, out: Floats
) -> None:
    """Write the Hessian of sum_x p~(x) log T(x) times v into ``out`` (n): for each context the
    covariance of the features under P(. | x), applied to v.
    """
    out[:] = 0.0
    for k in range(features.counts.shape[0]):
        score_context(features, v, k, scores)
        mean = 0.0
        for y in range(scores.shape[0]):
            mean += probabilities[k, y] * scores[y]
        for y in range(scores.shape[0]):
            # sum_y' (diag(P) - P P')_{y y'} v . f(x, y')
            scores[y] = probabilities[k, y] * (scores[y] - mean)
        _add(features, k, features.counts[k], scores, out)


@njit
def to_probabilities(scores: Floats) -> float:
    """Replace scores by exp(score) / T; returns log T."""
    shift = scores.max()
    total = 0.0
    for y in range(scores.shape[0]):
        scores[y] = np.exp(scores[y] - shift)
        total += scores[y]
    for y in range(scores.shape[0]):
        scores[y] /= total
    return float(shift + np.log(total))


@njit
def score_context(features: Features, w: Floats, k: int, scores: Floats) -> None:
    """Write w . f(x, y) of context k for every label into ``scores`` (L)."""
    scores[:] = 0.0
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a, value = features.row_attributes[j], features.row_values[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            scores[features.labels[t]] += w[t] * value


@njit
def forbid(features: Features, k: int, scores: Floats, value: float) -> None:
    """Set the scores of labels that context k may not have to ``value``."""
    if features.allowed.shape[0] == 0:
        return
    for y in range(scores.shape[0]):
        if not features.allowed[k, y]:
            scores[y] = value


@njit
def _add(features: Features, k: int, count: float, by_label: Floats, out: Floats) -> None:
    """out_t += count sum_y by_label[y] f_t(x, y) for context k."""
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a, value = features.row_attributes[j], count * features.row_values[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            out[t] += value * by_label[features.labels[t]]
