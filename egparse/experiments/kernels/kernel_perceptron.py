"""The perceptron in the dual: scores are sums of kernels with the examples it made mistakes on
(McDonald 2009, "Kernel Trick").

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
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError, EgparseError
from egparse.types import Floats, Longs

Rule = Literal["last", "averaged", "voted"]

_ROWS_AT_ONCE = 512  # of a prediction, whose kernel values are dense


class Kernel(Protocol):
    """A symmetric positive semidefinite function of two examples."""

    def matrix(self, a: Any, b: Any) -> Floats:
        """(a, b): its values for all pairs of two collections of examples."""


class Mistakes(NamedTuple):
    """In the order made: ``place`` (e) of the example among the supports, its label, and the label
    predicted.

    ``survived`` (e + 1): the visits after which the weights before the first mistake, after it,
    after the second ... were in force.
    """

    place: Longs
    label: Longs
    predicted: Longs
    survived: Longs


@dataclass(frozen=True)
class KernelModel:
    """The examples that mistakes were made on (``supports``) and the mistakes; ``mistakes_by_pass``
    counts them.
    """

    kernel: Kernel
    supports: Any
    mistakes: Mistakes
    label_count: int
    mistakes_by_pass: tuple[int, ...]

    @property
    def coefficients(self) -> Floats:
        """c (supports, L) after the last mistake."""
        return self._summed(np.ones(len(self.mistakes.place)))

    @property
    def averaged_coefficients(self) -> Floats:
        """The mean of c over all visits."""
        survived = self.mistakes.survived
        after = survived[::-1].cumsum()[::-1][1:]  # visits that a mistake had a say in
        return self._summed(after / max(1, survived.sum()))

    def scores(self, examples: Any, rule: Rule = "averaged") -> Floats:
        """(examples, L): scores under the last or averaged weights, or votes.

        Raises:
            ConfigError: an unknown rule.
        """
        if rule not in ("last", "averaged", "voted"):
            raise ConfigError(f"kernel perceptron: expected last, averaged or voted, got {rule!r}")
        count = _size(examples)
        out = np.zeros((count, self.label_count))
        if rule != "voted":
            coefficients = self.coefficients if rule == "last" else self.averaged_coefficients
        for begin in range(0, count, _ROWS_AT_ONCE):
            own = np.arange(begin, min(begin + _ROWS_AT_ONCE, count))
            values = self._values(_chosen(examples, own))
            if rule == "voted":
                _vote(values, self.mistakes, out[own[0] : own[-1] + 1])
            else:
                out[own] = values @ coefficients
        return out

    def predict(self, examples: Any, rule: Rule = "averaged") -> Longs:
        """(examples,): the best label, the first of equals."""
        return np.asarray(self.scores(examples, rule).argmax(axis=1))

    def _values(self, examples: Any) -> Floats:
        if len(self.mistakes.place) == 0:
            return np.zeros((_size(examples), 0))
        return self.kernel.matrix(examples, self.supports)

    def _summed(self, shares: Floats) -> Floats:
        place, label, predicted, _ = self.mistakes
        out = np.zeros((_size(self.supports), self.label_count))
        np.add.at(out, (place, label), shares)
        np.add.at(out, (place, predicted), -shares)
        return out


@dataclass(frozen=True, kw_only=True)
class KernelPerceptron:
    """``passes`` over the examples, or fewer: one without a mistake is the last. With a ``seed``
    each pass goes in an order of its own.

    Raises:
        ConfigError: no passes.
    """

    kernel: Kernel
    passes: int = 10
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ConfigError(f"kernel perceptron: expected passes >= 1, got {self.passes}")

    def train(
        self, examples: Any, labels: npt.ArrayLike, *, label_count: int | None = None
    ) -> KernelModel:
        """``examples`` are what the kernel takes; ``labels`` (n,) from 0; ``label_count`` is the
        largest plus 1 by default.

        Raises:
            EgparseError: labels that do not fit, or a kernel value that is no number.
        """
        run = KernelPasses(self.kernel, examples, labels, label_count=label_count, seed=self.seed)
        for _ in range(self.passes):
            if run.make() == 0:
                break
        return run.model()


class KernelPasses:
    """Training pass by pass, with the Gram matrix and the scores of all examples; arguments as
    those of ``KernelPerceptron``.

    Raises:
        EgparseError: labels that do not fit, or a kernel value that is no number.
    """

    def __init__(
        self,
        kernel: Kernel,
        examples: Any,
        labels: npt.ArrayLike,
        *,
        label_count: int | None = None,
        seed: int | None = None,
    ) -> None:
        own = np.asarray(labels, dtype=np.int64)
        n = _size(examples)
        count = label_count if label_count is not None else int(np.max(own, initial=0)) + 1
        if own.shape != (n,) or own.min(initial=0) < 0 or own.max(initial=0) >= count:
            raise EgparseError(
                f"kernel perceptron: expected {n} labels in 0..{count - 1}, got others"
            )
        self._gram = np.ascontiguousarray(kernel.matrix(examples, examples))
        if not np.all(np.isfinite(self._gram)):
            raise EgparseError("kernel perceptron: expected finite kernel values, got others")
        self._kernel, self._examples, self._labels, self._count = kernel, examples, own, count
        self._random = None if seed is None else np.random.default_rng(seed)
        self._scores = np.zeros((count, n))
        self._current = 0
        self._made: list[Longs] = [np.empty((0, 2), dtype=np.int64)]
        self._ended: list[Longs] = [np.empty(0, dtype=np.int64)]

    @property
    def supports(self) -> Longs:
        """Which examples any mistake was made on, ascending."""
        return np.unique(np.concatenate(self._made)[:, 0])

    def make(self) -> int:
        """Visit every example once; returns the number of mistakes."""
        n = len(self._labels)
        order = np.arange(n) if self._random is None else self._random.permutation(n)
        made, ended = np.empty((n, 2), dtype=np.int64), np.empty(n, dtype=np.int64)
        number, self._current = _train_pass(
            self._gram, self._labels, order, self._scores, self._current, made, ended
        )
        self._made.append(made[:number].copy())
        self._ended.append(ended[:number].copy())
        return int(number)

    def model(self) -> KernelModel:
        """The model so far."""
        made = np.concatenate(self._made)
        survived = np.concatenate([*self._ended, np.array([self._current], dtype=np.int64)])
        supports, place = np.unique(made[:, 0], return_inverse=True)
        mistakes = Mistakes(place.reshape(-1), self._labels[made[:, 0]], made[:, 1], survived)
        by_pass = tuple(len(own) for own in self._made[1:])
        return KernelModel(
            self._kernel, _chosen(self._examples, supports), mistakes, self._count, by_pass
        )

    def scores(self, model: KernelModel, rule: Literal["last", "averaged"]) -> Floats:
        """(n, L): the scores of the training examples under a model of this run."""
        coefficients = model.coefficients if rule == "last" else model.averaged_coefficients
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
    """Visit the examples; returns the number of mistakes written and how long the weights now in
    force have survived.
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
    """Add the votes of every weight vector in turn to ``votes`` (examples, L)."""
    for i in range(votes.shape[0]):
        scores = np.zeros(votes.shape[1])
        votes[i, 0] += mistakes.survived[0]  # the first weights are 0: all labels are equal
        for e in range(mistakes.place.shape[0]):
            value = values[i, mistakes.place[e]]
            scores[mistakes.label[e]] += value
            scores[mistakes.predicted[e]] -= value
            votes[i, np.argmax(scores)] += mistakes.survived[e + 1]


def _size(examples: Any) -> int:
    return int(examples.shape[0]) if hasattr(examples, "shape") else len(examples)


def _chosen(examples: Any, places: Longs) -> Any:
    return examples[places] if hasattr(examples, "shape") else [examples[place] for place in places]
