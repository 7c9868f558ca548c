"""Naive Bayes, multinomial or Bernoulli: a label, then every attribute on its own (McDonald 2009, "Discriminative versus Generative").

    multinomial   log P(x, y) = log P(y) + sum_a x_a log P(a | y)                        x_a: how often attribute a occurs
    Bernoulli     log P(x, y) = log P(y) + sum_a log P(a | y) or log(1 - P(a | y))       as a occurs or not

with P(y) = (n_y + lambda) / (n + lambda L), multinomial P(a | y) = (c_ya + lambda) / (c_y + lambda A) in occurrences, Bernoulli
P(a | y) = (n_ya + lambda) / (n_y + 2 lambda) in examples. Both are linear in x: log P(x, y) = bias_y + w_y . x. O(#nz) to train.
The multinomial model leaves out the multinomial coefficient of x, which is the same for all labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError, EgparseError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Events = Literal["multinomial", "bernoulli"]


@dataclass(frozen=True)
class NaiveBayes:
    """``bias`` (L,) and ``weights`` (A, L), natural logarithms; see the module."""

    events: Events
    bias: Floats
    weights: Floats

    def log_joint(self, attributes: Any) -> Floats:
        """(rows, L): log P(x, y) of contexts given as a sparse (rows, A) matrix."""
        matrix = csr_matrix(attributes, dtype=np.float64)
        if matrix.shape[1] != len(self.weights):
            raise ConfigError(f"naive Bayes: expected {len(self.weights)} attributes, got {matrix.shape[1]}")
        return np.asarray(_events(matrix, self.events) @ self.weights + self.bias)

    def predict(self, attributes: Any) -> Ints:
        """(rows,): the most probable label, the first of equals."""
        return np.asarray(self.log_joint(attributes).argmax(axis=1))


def train_naive_bayes(
    attributes: Any,
    labels: npt.ArrayLike,
    *,
    events: Events = "multinomial",
    smoothing: float = 1.0,
    label_count: int | None = None,
) -> NaiveBayes:
    """Count. ``attributes`` (n, A) sparse, finite and non-negative; ``labels`` (n,) from 0; ``smoothing`` is lambda.

    Raises:
        ConfigError: an unknown event model, or a smoothing that is not positive.
        EgparseError: data that do not fit.
    """
    if events not in ("multinomial", "bernoulli") or not smoothing > 0:
        raise ConfigError(
            f"naive Bayes: expected multinomial or bernoulli and smoothing > 0, got {events!r} and {smoothing}"
        )
    matrix = csr_matrix(attributes, dtype=np.float64)
    own = np.asarray(labels, dtype=np.int64)
    n = matrix.shape[0]
    count = label_count if label_count is not None else int(np.max(own, initial=-1)) + 1
    if n == 0 or own.shape != (n,) or own.min() < 0 or own.max() >= count:
        raise EgparseError(f"naive Bayes: expected {n} labels in 0..{count - 1} for {n} examples, got others")
    if not np.all(np.isfinite(matrix.data)) or matrix.data.min(initial=0.0) < 0:
        raise EgparseError("naive Bayes: expected finite attribute values of at least 0, got others")
    seen = csr_matrix((np.ones(n), own, np.arange(n + 1)), shape=(n, count))
    occurrences = np.asarray((_events(matrix, events).T @ seen).toarray())  # (A, L)
    examples = np.bincount(own, minlength=count).astype(np.float64)
    prior = np.log((examples + smoothing) / (n + smoothing * count))
    if events == "multinomial":
        totals = occurrences.sum(axis=0) + smoothing * matrix.shape[1]
        return NaiveBayes(events, prior, np.log((occurrences + smoothing) / totals))
    present = (occurrences + smoothing) / (examples + 2 * smoothing)
    absent = np.log1p(-present)
    return NaiveBayes(events, prior + absent.sum(axis=0), np.log(present) - absent)


def _events(matrix: Any, events: Events) -> Any:
    if events == "multinomial":
        return matrix
    present = matrix.copy()
    present.sum_duplicates()
    present.eliminate_zeros()
    present.data[:] = 1.0
    return present
