"""Projective inside-outside in the log domain: slow, and accurate whatever the range of the scores.

The items, charts and equations of ``projective``, with sums for products and log-sum-exp for sums.
Arc scores are taken relative to the best one into each word, which keeps the digits of large
scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from egparse.compilation import njit
from egparse.structures.logsumexp import log_add, log_dot
from egparse.types import Floats


@njit
def log_inside_outside(scores: Floats, single_root: bool, marginals: Floats, work: Any) -> float:
    """Write the arc marginals to zeroed ``marginals`` and return log Z; ``work`` is a
    ``projective.Workspace``.
    """
    size = scores.shape[0]
    log_scale = _shifted_scores(scores, work.weights, work.shifts)
    log_z = _log_inside(size, single_root, work)
    if log_z > -np.inf:
        _log_outside(size, single_root, log_z, marginals, work)
    return log_z + log_scale


@njit
def _shifted_scores(scores: Floats, shifted: Floats, shifts: Floats) -> float:
    """Write shifted[h, d] = scores[h, d] - best score into d; returns the sum of these best scores.

    Words without a candidate head keep their scores (all ``-inf``), so that log Z becomes ``-inf``.
    """
    size = scores.shape[0]
    chart = shifted[: size * size].reshape((size, size))
    total = 0.0
    for dependent in range(1, size):
        shift = -np.inf
        for head in range(size):
            if head != dependent and scores[head, dependent] > shift:
                shift = scores[head, dependent]
        shifts[dependent] = shift if shift > -np.inf else 0.0
        total += shifts[dependent]
    for head in range(size):
        chart[head, 0] = -np.inf
        for dependent in range(1, size):
            chart[head, dependent] = scores[head, dependent] - shifts[dependent]
        chart[head, head] = -np.inf
    return total


@njit
def _log_inside(size: int, single_root: bool, work: Any) -> float:
    """``projective._inside`` by logarithms; returns log Z of the shifted scores."""
    cells = size * size
    score = work.weights[:cells].reshape((size, size))
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    incomplete_t = work.incomplete_t[:cells].reshape((size, size))
    first = 1 if single_root else 0
    for i in range(size - 1, first - 1, -1):
        complete[i, i] = 0.0
        complete_t[i, i] = 0.0
        for j in range(i + 1, size):
            joint = log_dot(complete[i, i:j], complete[j, i + 1 : j + 1])
            right = score[i, j] + joint
            incomplete[i, j] = right
            incomplete_t[j, i] = right
            left = score[j, i] + joint
            incomplete[j, i] = left
            incomplete_t[i, j] = left
            right = log_dot(incomplete[i, i + 1 : j + 1], complete_t[j, i + 1 : j + 1])
            complete[i, j] = right
            complete_t[j, i] = right
            left = log_dot(incomplete[j, i:j], complete_t[i, i:j])
            complete[j, i] = left
            complete_t[i, j] = left
    if not single_root:
        return float(complete[0, size - 1])
    log_z = -np.inf
    for r in range(1, size):
        log_z = log_add(log_z, score[0, r] + complete[r, 1] + complete[r, size - 1])
    return log_z


@njit
def _log_outside(size: int, single_root: bool, log_z: float, marginals: Floats, work: Any) -> None:
    """``projective._outside`` by logarithms."""
    cells = size * size
    score = work.weights[:cells].reshape((size, size))
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    incomplete_t = work.incomplete_t[:cells].reshape((size, size))
    outer = work.outer_complete[:cells].reshape((size, size))
    outer_t = work.outer_complete_t[:cells].reshape((size, size))
    outer_joint = work.outer_joint[:cells].reshape((size, size))
    first = 1 if single_root else 0
    last = size - 1
    for i in range(first, size):
        for j in range(last, i, -1):
            right = log_dot(outer_t[j, first:i], incomplete_t[i, first:i])
            left = log_dot(outer_t[i, j + 1 :], incomplete_t[j, j + 1 :])
            if j < last:
                right = log_add(right, log_dot(outer_joint[i, j + 1 :], complete_t[j + 1, j + 1 :]))
            elif single_root:
                right = log_add(right, score[0, i] + complete[i, 1] - log_z)
            elif i == 0:
                right = log_add(right, -log_z)
            if i > first:
                left = log_add(left, log_dot(outer_joint[j, first:i], complete_t[i - 1, first:i]))
            elif single_root:
                left = log_add(left, score[0, j] + complete[j, last] - log_z)
            outer[i, j] = right
            outer_t[j, i] = right
            outer[j, i] = left
            outer_t[i, j] = left
            right = log_dot(outer[i, j:], complete[j, j:])
            left = log_dot(outer[j, first : i + 1], complete[i, first : i + 1])
            joint = log_add(score[i, j] + right, score[j, i] + left)
            outer_joint[i, j] = joint
            outer_joint[j, i] = joint
            marginals[i, j] = np.exp(incomplete[i, j] + right)
            marginals[j, i] = np.exp(incomplete[j, i] + left)
    if single_root:
        for r in range(1, size):
            marginals[0, r] = np.exp(score[0, r] + complete[r, 1] + complete[r, last] - log_z)
