"""Non-projective dependency trees: log Z and arc marginals in O(n^3), best tree, k best trees.

By the matrix-tree theorem (Koo et al. 2007; Smith and Smith 2007; McDonald and Satta 2007) the
partition is a determinant, and a marginal the difference of two entries of the inverse. Both lose
digits where words attract each other in cycles: the entries grow, their difference does not. We
compute the same numbers without a single subtraction, each to nearly full precision, at the cost of
a factorisation and an inverse.

**The random walk.** Walk from a word to a head, drawn in proportion to the weights of its arcs, and
on from there until the root. When word e is removed from the graph, the walks between the others
remain as they were if their rates become ::

    rate[j, i] + rate[j, e] rate[e, i] / out[e]
    where out[e] = sum of rate[e, i] over remaining i, and the root

This is Gaussian elimination on the Laplacian, except that out[e] is summed anew and is not the
result of subtractions (Grassmann, Taksar and Heyman 1985; O'Cinneide 1993 on its precision). The
determinant, and so the partition, is the product of out[e] over all words in any order. Let
``escape[d, h]`` be the probability that the walk from h reaches the root before word d. By the
theorem for forests (Chaiken 1982) the inverse L of the Laplacian has ``L[d, d] - L[d, h] = L[d, d]
escape[d, h]``, so Koo et al.'s marginal is ::

    marginal[h, d] = weight[h, d] escape[d, h] / sum over g of weight[g, d] escape[d, g]

**Halving.** escape[d] follows by substitution from an elimination that ends with d. To end with
every word in turn, remove one half of the words and recurse into the other, both ways
(``leave_one_out``): T(n) = 2 T(n/2) + O(n^3) = O(n^3), about 1.3 n^3 multiplications in all.

**A single root** is the limit of root weights times t as t goes to 0; as nothing is subtracted, t
can be 1e-130 without loss of precision. The error is the share of trees with two or more arcs from
the root. It is at most the sum of the marginals of these arcs minus one, which is checked.

**Range.** Rates of a word sum to one before elimination. An underflow changes an arc's rate by
2.3e-308 at most, which changes log Z by at most that times L[d, d] = 1 / (sum over g of
rate[d, g] escape[d, g]); all these sums must be at least ``SMALLEST``. Otherwise, or if single
roots cannot be separated, ``nonprojective_log`` computes the same by logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import copy_numbers, njit
from egparse.structures.logsumexp import dot
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds, search_workspace
from egparse.structures.trees.dependency_trees import (
    BestTree,
    checked_count,
    checked_scores,
)
from egparse.structures.trees.leave_one_out import finished_parent, plan_halving
from egparse.structures.trees.nonprojective_log import log_matrix_tree
from egparse.structures.trees.partition import k_best_of
from egparse.types import Floats, Ints

SMALLEST = 1e-270
"""Where a word's rate of escape is below this, digits may have been lost to underflow."""

ROOT_DISCOUNT = 130 * math.log(10)
"""For single-root trees, arcs from the root score this many nats less than the best others."""

ROOT_TOLERANCE = 1e-11
"""The largest probability that trees with several arcs from the root may have."""


class Workspace(NamedTuple):
    """Buffers for sentences of up to ``n_max`` words, which the kernels overwrite.

    ``rates[depth]`` is flat, of (n_max+1)^2 numbers, used as rates [dependent, head] of stride n+1
    at that depth of the halving; the row of an eliminated word holds its probabilities. ``escape``
    [d, h] is flat likewise. ``shifts`` is (n_max+1,). ``schedule`` has a row for each step of
    ``leave_one_out``.
    """

    rates: Floats
    escape: Floats
    shifts: Floats
    schedule: Ints


def workspace(n_max: int) -> Workspace:
    """Buffers for ``matrix_tree``, for sentences of up to ``n_max`` words."""
    m = n_max + 1
    depths = 1 + math.ceil(math.log2(m))
    return Workspace(
        np.empty((depths, m * m)),
        np.empty(m * m),
        np.empty(m),
        np.empty((2 * m, 4), dtype=np.int32),
    )


def argmax(scores: npt.ArrayLike, single_root: bool = True) -> BestTree:
    """A tree of highest score; score ``-inf`` and heads -1 where none exists.

    Raises:
        ValueError: scores that ``checked_scores`` refuses.
    """
    checked = checked_scores(scores)
    heads = np.empty(len(checked), dtype=np.int32)
    score = chu_liu_edmonds(checked, single_root, heads, search_workspace(len(checked) - 1))
    return BestTree(heads, float(score))


def k_best(scores: npt.ArrayLike, k: int, single_root: bool = True) -> list[BestTree]:
    """The ``k`` best trees, best first; fewer where fewer exist.

    Lawler's partition (``trees.partition``): O(k n) searches by ``argmax``, O(n^2 + k n) memory.

    Raises:
        ValueError: k < 1, or scores that ``checked_scores`` refuses.
    """
    return k_best_of(_DenseArcs(checked_scores(scores), single_root), checked_count(k))


class _DenseArcs:
    """The arcs of a matrix of scores."""

    def __init__(self, scores: Floats, single_root: bool) -> None:
        self._scores = scores
        self._allowed = scores.copy()
        self._single_root = single_root

    def allow_all(self) -> None:
        self._allowed[:] = self._scores

    def fix(self, word: int, head: int) -> None:
        self._allowed[:, word] = -math.inf
        self._allowed[head, word] = self._scores[head, word]

    def forbid(self, word: int, head: int) -> None:
        self._allowed[head, word] = -math.inf

    def best(self) -> BestTree:
        return argmax(self._allowed, self._single_root)


@njit(separate=True)
def matrix_tree(scores: Floats, single_root: bool, marginals: Floats, work: Workspace) -> float:
    """Write the probability of each arc to ``marginals`` (n+1, n+1) and return log Z, for
    C-contiguous ``scores`` without nan or +inf.

    Where no tree exists log Z is ``-inf``. Marginals are 0 on forbidden arcs, in column 0, on the
    diagonal, and everywhere if no tree exists. Uses the log domain where scaled rates underflow.
    Allocates nothing.
    """
    size = scores.shape[0]
    marginals[:, :] = 0.0
    discount = _root_discount(scores, work.shifts) if single_root else 0.0
    log_scale = _scaled_rates(scores, discount, work)
    if log_scale == -np.inf:
        return -np.inf
    log_z = _eliminate_all(size, marginals, work)
    if log_z > -np.inf and (not single_root or _expected_roots(marginals) <= 1.0 + ROOT_TOLERANCE):
        return log_z + log_scale + discount
    marginals[:, :] = 0.0
    return log_matrix_tree(scores, single_root, marginals, work.rates, work.escape, work.schedule)


@njit
def _root_discount(scores: Floats, highest: Floats) -> float:
    """Nats to subtract from the root's scores so that they are ``ROOT_DISCOUNT`` or more below the
    best other score into each word.
    """
    size = scores.shape[0]
    highest[:size] = -np.inf
    for head in range(1, size):
        for dependent in range(1, size):
            if scores[head, dependent] > highest[dependent] and head != dependent:
                highest[dependent] = scores[head, dependent]
    largest = -np.inf
    for dependent in range(1, size):
        if highest[dependent] > -np.inf:
            largest = max(largest, scores[0, dependent] - highest[dependent])
    return largest + ROOT_DISCOUNT if largest > -np.inf else 0.0


@njit
def _scaled_rates(scores: Floats, discount: float, work: Workspace) -> float:
    """Write the rates at depth 0, each row scaled to sum to one; returns the logarithm of the
    product of the scales, ``-inf`` if a word has no candidate head.
    """
    size = scores.shape[0]
    rate = work.rates[0, : size * size].reshape((size, size))
    log_scale = 0.0
    for dependent in range(1, size):
        highest = scores[0, dependent] - discount
        for head in range(1, size):
            if scores[head, dependent] > highest and head != dependent:
                highest = scores[head, dependent]
        if highest == -np.inf:
            return -np.inf
        row = rate[dependent]
        row[0] = np.exp(scores[0, dependent] - discount - highest)
        total = row[0]
        for head in range(1, size):
            row[head] = np.exp(scores[head, dependent] - highest) if head != dependent else 0.0
            total += row[head]
        row /= total
        log_scale += highest + math.log(total)
    return log_scale


@njit
def _eliminate_all(size: int, marginals: Floats, work: Workspace) -> float:
    """Write the marginals of all words and return log Z of the scaled rates; ``-inf`` if digits may
    have been lost to underflow.
    """
    n_steps = plan_halving(size, work.schedule)
    escape = work.escape[: size * size].reshape((size, size))
    log_z = 0.0
    for step in range(n_steps):
        first, last = work.schedule[step, 0], work.schedule[step, 1]
        if step > 0:
            log_out = _keep_half(step, size, work)
            if log_out == -np.inf:
                return -np.inf
            # The partition is the product over the steps that lead to any one word, here word 1.
            if first == 1:
                log_z += log_out
        if last - first == 1:
            escape[first, 0] = 1.0
            escape[first, first] = 0.0
            finished = step
            while finished > 0:
                _substitute(finished, size, escape, work)
                finished = finished_parent(finished, work.schedule)
    for dependent in range(1, size):
        out = _fill_marginals(dependent, escape[dependent], marginals, work)
        if not out >= SMALLEST:
            return -np.inf
        if dependent == 1:
            log_z += math.log(out)
    return log_z


@njit
def _keep_half(step: int, size: int, work: Workspace) -> float:
    """Eliminate the words of the parent's range that the step does not keep, from the far end
    inwards.

    Returns the log of the product of out[e]; ``-inf`` if one is too small.
    """
    first, last, parent, depth = work.schedule[step]
    outer_first, outer_last = work.schedule[parent, 0], work.schedule[parent, 1]
    outer = work.rates[depth - 1, : size * size].reshape((size, size))
    rate = work.rates[depth, : size * size].reshape((size, size))
    for dependent in range(outer_first, outer_last):
        rate[dependent, 0] = outer[dependent, 0]
        outer_part = outer[dependent, outer_first:outer_last]
        copy_numbers(outer_part, rate[dependent, outer_first:outer_last])
    log_out = 0.0
    product = 1.0
    for _ in range(outer_last - outer_first - (last - first)):
        if outer_first < first:
            eliminated = outer_first
            outer_first += 1
        else:
            outer_last -= 1
            eliminated = outer_last
        out = _eliminate(rate, eliminated, outer_first, outer_last)
        if not out >= SMALLEST:
            return -np.inf
        product *= out
        if product < 1e-30:  # the next factor is at least SMALLEST: no underflow
            log_out += math.log(product)
            product = 1.0
    return log_out + math.log(product)


@njit(fast=True)
def _eliminate(rate: Floats, eliminated: int, first: int, last: int) -> float:
    """Remove a word from the walk, leaving words first..last-1 and the root; returns its out-rate.

    Its row becomes probabilities. The diagonal, the rate of staying, is set to 0.
    """
    row = rate[eliminated, first:last]
    out = float(rate[eliminated, 0])
    for place in range(row.size):
        out += row[place]
    if not out >= SMALLEST:
        return out
    to_root = rate[eliminated, 0] / out
    rate[eliminated, 0] = to_root
    for place in range(row.size):
        row[place] /= out
    for dependent in range(first, last):
        # rate[j, i] += rate[j, e] rate[e, i] / out[e]
        through = rate[dependent, eliminated]
        rate[dependent, 0] += through * to_root
        target = rate[dependent, first:last]
        for place in range(row.size):
            target[place] += through * row[place]
        rate[dependent, dependent] = 0.0
    return out


@njit
def _substitute(step: int, size: int, escape: Floats, work: Workspace) -> None:
    """Compute escape[d, e] for the words d that the step keeps and e that it eliminates."""
    first, last, parent, depth = work.schedule[step]
    outer_first, outer_last = work.schedule[parent, 0], work.schedule[parent, 1]
    probability = work.rates[depth, : size * size].reshape((size, size))
    # escape[d, e] = sum over i remaining after e, and the root, of rate[e, i] / out[e] escape[d, i]
    for word in range(first - 1, outer_first - 1, -1):
        row = probability[word, word + 1 : last]
        for kept in range(first, last):
            escape[kept, word] = probability[word, 0] + dot(row, escape[kept, word + 1 : last])
    for word in range(last, outer_last):
        row = probability[word, first:word]
        for kept in range(first, last):
            escape[kept, word] = probability[word, 0] + dot(row, escape[kept, first:word])


@njit
def _fill_marginals(dependent: int, escape: Floats, marginals: Floats, work: Workspace) -> float:
    """Write the marginals of the arcs into word d, given its escape[h]; returns its rate of escape
    to the root.
    """
    size = escape.size
    # marginal[h, d] = rate[d, h] escape[h] / (sum over g of rate[d, g] escape[g])
    rate = work.rates[0, dependent * size : (dependent + 1) * size]
    total = dot(rate, escape)
    for head in range(size):
        marginals[head, dependent] = rate[head] * escape[head] / total
    return total


@njit
def _expected_roots(marginals: Floats) -> float:
    """The expected number of arcs from the root."""
    return float(marginals[0, 1:].sum())
