"""Parses scored by their parts: log Z and the probability of every part, the best and the k best
parses, each in one pass over a packed forest (and one back).

Probabilities are handed down from the root: the ways to make an item share its probability in
proportion to exp(score + inside of the items below), which the upward pass has summed already. So
there is one exponential and no logarithm a part, nothing overflows, and what underflows is a
probability too small for a float.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.experiments.grammars.forest import Forest
from egparse.structures.trees.projective_k_best import merge
from egparse.structures.vector_exp import exponentials, subtract_largest
from egparse.types import Floats, Ints, Longs


class ForestWorkspace(NamedTuple):
    """Buffers for forests of up to ``items`` items and ``parts`` parts: ``inside`` and ``mass``
    (items + 1,) are the log sum (or maximum) over the ways to make an item, and its probability;
    the last one stands for no item. ``choice`` (items,) is the best way.
    """

    inside: Floats
    mass: Floats
    values: Floats
    scratch: Floats
    choice: Longs


class ScoredParse(NamedTuple):
    """The score of a parse, and one on each of its parts, (parts,)."""

    score: float
    parts: Floats


def workspace(items: int, parts: int) -> ForestWorkspace:
    """Buffers for the kernels."""
    inside, mass = np.empty((2, items + 1))
    values, scratch = np.empty((2, parts))
    return ForestWorkspace(inside, mass, values, scratch, np.empty(items, dtype=np.int64))


def marginals(forest: Forest, scores: npt.ArrayLike) -> tuple[float, Floats]:
    """log Z and the probability of each part, (parts,).

    Raises:
        ValueError: scores that ``checked_part_scores`` refuses.
    """
    checked = checked_part_scores(forest, scores)
    out = np.empty(forest.parts)
    work = workspace(len(forest.items), forest.parts)
    return float(inside_outside(forest, checked, out, work)), out


def argmax(forest: Forest, scores: npt.ArrayLike) -> ScoredParse:
    """A parse of highest score; ``-inf`` and no parts where none exists.

    Raises:
        ValueError: scores that ``checked_part_scores`` refuses.
    """
    checked = checked_part_scores(forest, scores)
    out = np.empty(forest.parts)
    work = workspace(len(forest.items), forest.parts)
    return ScoredParse(float(best_parse(forest, checked, out, work)), out)


def k_best(forest: Forest, scores: npt.ArrayLike, k: int) -> list[ScoredParse]:
    """The ``k`` best parses, best first and all different; fewer where fewer exist.

    Every item has a list of its k best derivations, of which those above it are made (Huang and
    Chiang 2005, "Better k-best parsing", algorithm 1, with its pruning: if entries a and b of two
    lists, counted from one, make one of the k best sums then a * b <= k). O(parts k log k).

    Raises:
        ValueError: k < 1, or scores that ``checked_part_scores`` refuses.
    """
    if k < 1:
        raise ValueError(f"k best parses: expected k >= 1, got {k}")
    checked = checked_part_scores(forest, scores)
    items = len(forest.items)
    lists = np.empty((items + 1, k))
    origins = np.empty((items + 1, k, 3), dtype=np.int32)
    counts = np.empty(items + 1, dtype=np.int32)
    found = _k_best(forest, checked, lists, origins, counts) if items else 0
    parses, stack = [], np.empty((items + 2, 2), dtype=np.int64)
    for rank in range(found):
        out = np.zeros(forest.parts)
        parses.append(ScoredParse(float(_unfold(forest, checked, rank, origins, out, stack)), out))
    return parses


def checked_part_scores(forest: Forest, scores: npt.ArrayLike) -> Floats:
    """The scores as a contiguous array of float64.

    Raises:
        ValueError: another shape than (parts,), or nan or +inf.
    """
    checked = np.ascontiguousarray(scores, dtype=np.float64)
    if checked.shape != (forest.parts,):
        raise ValueError(f"part scores: expected shape ({forest.parts},), got {checked.shape}")
    if not (checked < np.inf).all():
        raise ValueError("part scores: expected finite numbers or -inf, got nan or +inf")
    return checked


@njit(separate=True)
def inside_outside(forest: Forest, scores: Floats, out: Floats, work: ForestWorkspace) -> float:
    """Write the probability of each part to ``out`` (parts,) and return log Z; where no parse
    exists 0 and ``-inf``.
    """
    items = forest.items.shape[0]
    if items == 0:
        return -np.inf
    starts, left, right = forest.part_starts, forest.left, forest.right
    inside, mass, values, scratch = work.inside, work.mass, work.values, work.scratch
    inside[items] = 0.0
    for t in range(items):
        first, end = starts[t], starts[t + 1]
        for r in range(first, end):
            values[r] = scores[r] + inside[left[r]] + inside[right[r]]
        # inside[t] = log sum over its parts of exp(score + inside[left] + inside[right])
        shift = subtract_largest(values[first:end], values[first:end])
        exponentials(values[first:end], scratch[first:end], out[first:end])
        total = 0.0
        for r in range(first, end):
            total += out[r]
        inside[t] = shift + math.log(total) if total > 0.0 else -np.inf
        for r in range(first, end):
            out[r] = out[r] / total if total > 0.0 else 0.0
    mass[: items + 1] = 0.0
    if inside[items - 1] > -np.inf:
        mass[items - 1] = 1.0
    for t in range(items - 1, -1, -1):
        for r in range(starts[t], starts[t + 1]):
            share = mass[t] * out[r]
            out[r] = share
            mass[left[r]] += share
            mass[right[r]] += share
    return float(inside[items - 1])


@njit(separate=True)
def best_parse(forest: Forest, scores: Floats, out: Floats, work: ForestWorkspace) -> float:
    """Write one on each part of a best parse to ``out`` (parts,), 0 elsewhere, and return its
    score; where no parse exists 0 and ``-inf``.
    """
    items = forest.items.shape[0]
    out[: forest.rule.shape[0]] = 0.0
    if items == 0:
        return -np.inf
    starts, left, right = forest.part_starts, forest.left, forest.right
    inside, mass, choice = work.inside, work.mass, work.choice
    inside[items] = 0.0
    for t in range(items):
        inside[t] = -np.inf
        choice[t] = starts[t]
        for r in range(starts[t], starts[t + 1]):
            value = scores[r] + inside[left[r]] + inside[right[r]]
            if value > inside[t]:
                inside[t] = value
                choice[t] = r
    score = inside[items - 1]
    if score == -np.inf:
        return -np.inf
    # the items of the parse, from the root on: those below an item come before it
    mass[: items + 1] = 0.0
    mass[items - 1] = 1.0
    for t in range(items - 1, -1, -1):
        if mass[t] > 0.0:
            r = choice[t]
            out[r] = 1.0
            mass[left[r]] = 1.0
            mass[right[r]] = 1.0
    return float(score)


@njit
def _k_best(forest: Forest, scores: Floats, lists: Floats, origins: Ints, counts: Ints) -> int:
    """Fill the list of each item, (items + 1, k), and its origins, (items + 1, k, 3): a part and
    the ranks of the derivations below it; returns the number of parses.
    """
    items, k = forest.items.shape[0], lists.shape[1]
    lists[items, 0] = 0.0
    counts[items] = 1
    for t in range(items):
        count = 0
        for r in range(forest.part_starts[t], forest.part_starts[t + 1]):
            left, right = forest.left[r], forest.right[r]
            count = merge(
                lists[left, : counts[left]],
                lists[right, : counts[right]],
                scores[r],
                r,
                k,
                lists[t],
                origins[t],
                count,
            )
        counts[t] = count
    return int(counts[items - 1])


@njit
def _unfold(
    forest: Forest, scores: Floats, rank: int, origins: Ints, out: Floats, stack: Longs
) -> float:
    """Write one on each part of the parse of this rank to zeroed ``out``; returns the sum of their
    scores.
    """
    items = forest.items.shape[0]
    stack[0, 0], stack[0, 1] = items - 1, rank
    top, total = 1, 0.0
    while top > 0:
        top -= 1
        t, place = stack[top, 0], stack[top, 1]
        if t == items:
            continue
        r = origins[t, place, 0]
        out[r] = 1.0
        total += scores[r]
        left, right = origins[t, place, 1], origins[t, place, 2]
        stack[top, 0], stack[top, 1] = forest.left[r], left
        stack[top + 1, 0], stack[top + 1, 1] = forest.right[r], right
        top += 2
    return total
