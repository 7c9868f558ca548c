"""Independent multi-class choices: a chain without transitions, one block of classes after another.

Problem: block k chooses one of its candidates; the score of a joint choice is the sum.
``starts[k]:starts[k + 1]`` are the parts of block k. One block is a multi-class example; the words
of a sentence are blocks of one example, so that their labels are learned with one call a sentence.
Everything costs O(parts).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints


class MulticlassMarginals(NamedTuple):
    """``marginals[part]``: the probability of each candidate."""

    log_partition: float
    marginals: Floats


class BestChoice(NamedTuple):
    """``choice[k]``: the place of the best candidate of block k; ``score`` of all blocks
    together.
    """

    choice: Ints
    score: float


@njit(fast=True)
def softmax(parts: Floats, starts: Ints, marginals: Floats) -> float:
    """Write the probability of every candidate and return log Z (nats), summed over the blocks."""
    log_z = 0.0
    for k in range(starts.shape[0] - 1):
        shift = -np.inf
        for c in range(starts[k], starts[k + 1]):
            shift = max(shift, parts[c])
        if shift == -np.inf:
            marginals[: starts[starts.shape[0] - 1]] = 0.0
            return -np.inf
        total = 0.0
        for c in range(starts[k], starts[k + 1]):
            marginals[c] = np.exp(parts[c] - shift)
            total += marginals[c]
        for c in range(starts[k], starts[k + 1]):
            marginals[c] /= total
        log_z += shift + np.log(total)
    return log_z


@njit
def best_choice(parts: Floats, starts: Ints, choice: Ints) -> float:
    """Write the best candidate of each block, the first of equals, and return the score."""
    score = 0.0
    for k in range(starts.shape[0] - 1):
        place = starts[k]
        for c in range(starts[k], starts[k + 1]):
            if parts[c] > parts[place]:
                place = c
        choice[k] = place - starts[k]
        score += parts[place]
    return score


def marginals(parts: Floats, starts: Ints) -> MulticlassMarginals:
    """Log partition and marginals; raises ValueError where a block has no candidate or shapes do
    not fit.
    """
    _check(parts, starts)
    out = np.empty_like(parts)
    return MulticlassMarginals(softmax(parts, starts, out), out)


def log_partition(parts: Floats, starts: Ints) -> float:
    """log of the sum over joint choices of exp(score)."""
    return marginals(parts, starts).log_partition


def argmax(parts: Floats, starts: Ints) -> BestChoice:
    """The best joint choice."""
    _check(parts, starts)
    choice = np.empty(len(starts) - 1, dtype=np.int32)
    return BestChoice(choice, best_choice(parts, starts, choice))


def entropy(parts: Floats, result: MulticlassMarginals) -> float:
    """Entropy in nats of the joint choice: H = log Z - E[score]."""
    used = result.marginals > 0
    return result.log_partition - float(result.marginals[used] @ parts[used])


def _check(parts: Floats, starts: Ints) -> None:
    if len(starts) < 1 or starts[0] != 0 or np.any(np.diff(starts) < 1):
        raise ValueError("expected at least one candidate a block")
    if parts.shape != (starts[-1],):
        raise ValueError(f"expected {starts[-1]} parts, got an array of shape {parts.shape}")
