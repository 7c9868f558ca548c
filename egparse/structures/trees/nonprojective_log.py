"""Arc marginals of non-projective trees in the log domain: slow, and accurate whatever the range of
the scores.

The random walk, the halving and the equations of ``nonprojective``, with sums for products and
log-sum-exp for sums. The range of logarithms allows a discount of the root's arcs that provably
separates single-root trees: see ``_safe_discount``.
"""

from __future__ import annotations

import math

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.structures.logsumexp import log_add, log_dot, log_sum
from egparse.structures.trees.leave_one_out import finished_parent, plan_halving
from egparse.types import Floats, Ints


@njit
def log_matrix_tree(
    scores: Floats,
    single_root: bool,
    marginals: Floats,
    rates: Floats,
    escape: Floats,
    schedule: Ints,
) -> float:
    """Write the arc marginals to zeroed ``marginals`` and return log Z; the buffers are those of
    ``nonprojective.Workspace``.
    """
    size: int = scores.shape[0]
    discount = _safe_discount(scores) if single_root else 0.0
    log_scale = _log_rates(scores, discount, rates)
    if log_scale == -np.inf:
        return -np.inf
    log_z = _log_eliminate_all(size, marginals, rates, escape, schedule)
    # With the safe discount, the expected number of roots is 1 if a single-root tree exists, and at
    # least 2 if not.
    if log_z == -np.inf or (single_root and marginals[0, 1:].sum() > 1.5):
        marginals[:, :] = 0.0
        return -np.inf
    return log_z + log_scale + discount


@njit
def _safe_discount(scores: Floats) -> float:
    """Nats to subtract from the root's scores so that all trees with several roots together weigh
    at most exp(-40) times as much as those with one.

    Let M[d] and m[d] be the best and the worst score above ``-inf`` into d from a word, and R, r
    the largest and smallest scores[0, d] - M[d]. A tree with k roots scores at most sum M + k R,
    one with a single root at least sum m + r, and there are at most (n+1)^n; so R + (R - r) + sum
    (M - m) + n log(n+1) + 40 is enough. A word without a candidate head among the words is a root
    in every tree and is left out on both sides.
    """
    size: int = scores.shape[0]
    spread = 0.0
    largest, smallest = -np.inf, np.inf
    for dependent in range(1, size):
        high, low = -np.inf, np.inf
        for head in range(1, size):
            if head != dependent and scores[head, dependent] > -np.inf:
                high = max(high, scores[head, dependent])
                low = min(low, scores[head, dependent])
        if high > -np.inf:
            spread += high - low
            if scores[0, dependent] > -np.inf:
                largest = max(largest, scores[0, dependent] - high)
                smallest = min(smallest, scores[0, dependent] - high)
    if largest == -np.inf:
        return 0.0
    return largest + (largest - smallest) + spread + size * math.log(size) + 40.0


@njit
def _log_rates(scores: Floats, discount: float, rates: Floats) -> float:
    """Write the logarithms of the rates at depth 0, each row scaled to sum to one; returns the sum
    of the logarithms of the scales, ``-inf`` if a word has no candidate head.
    """
    size: int = scores.shape[0]
    rate = rates[0, : size * size].reshape((size, size))
    log_scale = 0.0
    for dependent in range(1, size):
        row = rate[dependent]
        row[0] = scores[0, dependent] - discount
        for head in range(1, size):
            row[head] = scores[head, dependent] if head != dependent else -np.inf
        total = log_sum(row)
        if total == -np.inf:
            return -np.inf
        row -= total
        log_scale += total
    return log_scale


@njit
def _log_eliminate_all(
    size: int, marginals: Floats, rates: Floats, escapes: Floats, schedule: Ints
) -> float:
    """``nonprojective._eliminate_all`` by logarithms; returns ``-inf`` if no tree exists."""
    n_steps = plan_halving(size, schedule)
    escape = escapes[: size * size].reshape((size, size))
    log_z = 0.0
    for step in range(n_steps):
        first, last = schedule[step, 0], schedule[step, 1]
        if step > 0:
            log_out = _log_keep_half(step, size, rates, schedule)
            if log_out == -np.inf:
                return -np.inf
            if first == 1:
                log_z += log_out
        if last - first == 1:
            escape[first, 0] = 0.0
            escape[first, first] = -np.inf
            finished = step
            while finished > 0:
                _log_substitute(finished, size, escape, rates, schedule)
                finished = finished_parent(finished, schedule)
    for dependent in range(1, size):
        out = _log_fill_marginals(dependent, escape[dependent], marginals, rates)
        if out == -np.inf:
            return -np.inf
        if dependent == 1:
            log_z += out
    return log_z


@njit
def _log_keep_half(step: int, size: int, rates: Floats, schedule: Ints) -> float:
    """``nonprojective._keep_half`` by logarithms."""
    first, last, parent, depth = schedule[step]
    outer_first, outer_last = schedule[parent, 0], schedule[parent, 1]
    outer = rates[depth - 1, : size * size].reshape((size, size))
    rate = rates[depth, : size * size].reshape((size, size))
    for dependent in range(outer_first, outer_last):
        rate[dependent, 0] = outer[dependent, 0]
        outer_part = outer[dependent, outer_first:outer_last]
        copy_numbers(outer_part, rate[dependent, outer_first:outer_last])
    log_out = 0.0
    for _ in range(outer_last - outer_first - (last - first)):
        if outer_first < first:
            eliminated = outer_first
            outer_first += 1
        else:
            outer_last -= 1
            eliminated = outer_last
        log_out += _log_eliminate(rate, eliminated, outer_first, outer_last)
        if log_out == -np.inf:
            break
    return log_out


@njit
def _log_eliminate(rate: Floats, eliminated: int, first: int, last: int) -> float:
    """``nonprojective._eliminate`` by logarithms."""
    row = rate[eliminated, first:last]
    out = log_add(rate[eliminated, 0], log_sum(row))
    if out == -np.inf:
        return out
    rate[eliminated, 0] -= out
    row -= out
    for dependent in range(first, last):
        through = rate[dependent, eliminated]
        if through > -np.inf:
            rate[dependent, 0] = log_add(rate[dependent, 0], through + rate[eliminated, 0])
            target = rate[dependent, first:last]
            for place in range(row.size):
                target[place] = log_add(target[place], through + row[place])
            rate[dependent, dependent] = -np.inf
    return out


@njit
def _log_substitute(step: int, size: int, escape: Floats, rates: Floats, schedule: Ints) -> None:
    """``nonprojective._substitute`` by logarithms."""
    first, last, parent, depth = schedule[step]
    outer_first, outer_last = schedule[parent, 0], schedule[parent, 1]
    probability = rates[depth, : size * size].reshape((size, size))
    for word in range(first - 1, outer_first - 1, -1):
        row = probability[word, word + 1 : last]
        for kept in range(first, last):
            through = log_dot(row, escape[kept, word + 1 : last])
            escape[kept, word] = log_add(probability[word, 0], through)
    for word in range(last, outer_last):
        row = probability[word, first:word]
        for kept in range(first, last):
            through = log_dot(row, escape[kept, first:word])
            escape[kept, word] = log_add(probability[word, 0], through)


@njit
def _log_fill_marginals(dependent: int, escape: Floats, marginals: Floats, rates: Floats) -> float:
    """``nonprojective._fill_marginals`` by logarithms."""
    size = escape.size
    rate = rates[0, dependent * size : (dependent + 1) * size]
    total = log_dot(rate, escape)
    if total > -np.inf:
        for head in range(size):
            marginals[head, dependent] = np.exp(rate[head] + escape[head] - total)
    return total
