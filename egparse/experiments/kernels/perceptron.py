"""The perceptron in the dual: scores are sums of kernel values with the training examples that were
predicted wrongly (McDonald 2009, "Kernel Trick").

The lecture keeps alpha[y, t], how often y was predicted wrongly for example t. With features in
blocks by label the kernel of two pairs is phi((x, y), (x', y')) = [y = y'] K(x, x'), and the score
of label y is

    s(x, y) = sum_t c[t, y] K(x_t, x),    c[t, y] = [y = y_t] sum_y' alpha[y', t] - alpha[y, t].

Training keeps the scores of all examples and adds two columns of the Gram matrix to them at each
mistake: O(n) a mistake, O(n^2) memory. Mistakes are recorded in order, so that the model can
predict by its last weights, by their average over all visits, or by a vote of all weights it ever
had, each with as many votes as visits it survived (Freund & Schapire 1999, Fig. 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import EgparseError
from egparse.experiments.kernels.functions import Kernel
from egparse.types import Floats, Longs

Weighting = Literal["last", "averaged", "voted"]
"""Which weights predict: the last, their average over all visits, or all by vote."""

_ROWS_AT_ONCE = 512  # of a prediction, whose kernel values are dense


class Mistakes(NamedTuple):
    """e mistakes, in order: ``support`` (e) indexes the example among the supports, ``label`` (e)
    is its class, and ``predicted`` (e) the class predicted.

    ``survived`` (e + 1) counts the visits for which the weights were in force: those before the
    first mistake, those between the first and the second, and so on.
    """

    support: Longs
    label: Longs
    predicted: Longs
    survived: Longs


@dataclass(frozen=True)
class KernelModel:
    """A classifier: ``supports`` (m, ...) are the examples on which mistakes were made;
    ``mistakes_by_pass`` counts the mistakes.
    """

    kernel: Kernel
    supports: npt.NDArray[Any]
    mistakes: Mistakes
    n_classes: int
    mistakes_by_pass: tuple[int, ...]

    @property
    def coefficients(self) -> Floats:
        """c (supports, classes) after the last mistake."""
        return self._summed(np.ones(len(self.mistakes.support)))

    @property
    def averaged_coefficients(self) -> Floats:
        """The mean of c over all visits."""
        survived = self.mistakes.survived
        after = survived[::-1].cumsum()[::-1][1:]  # visits whose weights include the mistake
        return self._summed(after / max(1, survived.sum()))

    def scores(self, x: npt.NDArray[Any], weighting: Weighting = "averaged") -> Floats:
        """(m, classes): scores of objects ``x`` (m, ...) under the last or averaged weights,
        or votes.
        """
        out = np.zeros((len(x), self.n_classes))
        if weighting != "voted":
            last = weighting == "last"
            coefficients = self.coefficients if last else self.averaged_coefficients
        for begin in range(0, len(x), _ROWS_AT_ONCE):
            rows = slice(begin, min(begin + _ROWS_AT_ONCE, len(x)))
            values = self._values(x[rows])
            if weighting == "voted":
                _vote(values, self.mistakes, out[rows])
            else:
                out[rows] = values @ coefficients
        return out

    def _values(self, x: npt.NDArray[Any]) -> Floats:
        if len(self.mistakes.support) == 0:
            return np.zeros((len(x), 0))
        return self.kernel.matrix(x, self.supports)

    def _summed(self, weights: Floats) -> Floats:
        support, label, predicted, _ = self.mistakes
        out = np.zeros((len(self.supports), self.n_classes))
        np.add.at(out, (support, label), weights)
        np.add.at(out, (support, predicted), -weights)
        return out


class Training:
    """Training pass by pass on objects ``x`` (n, ...) with classes ``y`` (n,) below ``n_classes``.
    It holds the Gram matrix and the scores of all examples. With a ``seed`` the examples are
    shuffled before each pass.

    Raises:
        EgparseError: a kernel value that is not finite.
    """

    def __init__(
        self,
        kernel: Kernel,
        x: npt.NDArray[Any],
        y: npt.ArrayLike,
        *,
        n_classes: int,
        seed: int | None = None,
    ) -> None:
        self._gram = np.ascontiguousarray(kernel.matrix(x, x))
        if not np.all(np.isfinite(self._gram)):
            raise EgparseError("kernel-perceptron: expected finite kernel values, got others")
        self._kernel, self._x, self._n_classes = kernel, x, n_classes
        self._y = np.asarray(y, dtype=np.int64)
        self._random = None if seed is None else np.random.default_rng(seed)
        self._scores = np.zeros((n_classes, len(x)))
        self._current = 0  # visits that the weights now in force have survived
        self._made: list[Longs] = [np.empty((0, 2), dtype=np.int64)]
        self._ended: list[Longs] = [np.empty(0, dtype=np.int64)]

    @property
    def supports(self) -> Longs:
        """The indices of the examples on which any mistake was made, ascending."""
        return np.unique(np.concatenate(self._made)[:, 0])

    def make_pass(self) -> int:
        """Visit every example once; returns the number of mistakes."""
        n = len(self._y)
        order = np.arange(n) if self._random is None else self._random.permutation(n)
        made, ended = np.empty((n, 2), dtype=np.int64), np.empty(n, dtype=np.int64)
        number, self._current = _train_pass(
            self._gram, self._y, order, self._scores, self._current, made, ended
        )
        self._made.append(made[:number].copy())
        self._ended.append(ended[:number].copy())
        return int(number)

    def model(self) -> KernelModel:
        """The model so far."""
        made = np.concatenate(self._made)
        survived = np.concatenate([*self._ended, np.array([self._current], dtype=np.int64)])
        supports, support = np.unique(made[:, 0], return_inverse=True)
        predicted = made[:, 1].copy()  # contiguous, as after each choice of mistakes
        mistakes = Mistakes(support.reshape(-1), self._y[made[:, 0]], predicted, survived)
        by_pass = tuple(len(mistakes_made) for mistakes_made in self._made[1:])
        return KernelModel(self._kernel, self._x[supports], mistakes, self._n_classes, by_pass)

    def scores(self, model: KernelModel, weighting: Literal["last", "averaged"]) -> Floats:
        """(n, classes): the scores of the training examples under a model of this training."""
        last = weighting == "last"
        coefficients = model.coefficients if last else model.averaged_coefficients
        return np.asarray(self._gram[:, self.supports] @ coefficients)


@njit
def _train_pass(
    gram: Floats,
    labels: Longs,
    order: Longs,
    scores: Floats,
    current: int,
    made: Longs,
    ended: Longs,
) -> tuple[int, int]:
    """Visit the examples; returns the number of mistakes written, and for how many visits the
    weights now in force have survived.
    """
    number = 0
    for i in order:
        best = 0
        for y in range(1, scores.shape[0]):
            if scores[y, i] > scores[best, i]:
                best = y
        if best == labels[i]:
            current += 1
            continue
        scores[labels[i]] += gram[i]
        scores[best] -= gram[i]
        made[number, 0], made[number, 1] = i, best
        ended[number] = current
        number += 1
        current = 1
    return number, current


@njit
def _vote(values: Floats, mistakes: Mistakes, votes: Floats) -> None:
    """Add the votes of every weight vector in turn to ``votes`` (examples, classes)."""
    for i in range(votes.shape[0]):
        scores = np.zeros(votes.shape[1])
        votes[i, 0] += mistakes.survived[0]  # the first weights are 0: all labels are equal
        for e in range(mistakes.support.shape[0]):
            value = values[i, mistakes.support[e]]
            scores[mistakes.label[e]] += value
            scores[mistakes.predicted[e]] -= value
            votes[i, np.argmax(scores)] += mistakes.survived[e + 1]
