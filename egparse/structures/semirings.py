"""One dynamic program, three ways to add and multiply: probabilities, their logarithms, and best
scores.

Inside, an item is a sum over its derivations of the product of two narrower items (Goodman 1999,
"Semiring parsing"):

    item = inner(left, right) = sum_r left[r] right[r].

On the way back each item gets its count, the number of times that it is used, expected over all
derivations of the whole (``BEST``: in one best derivation). It is the derivative of log Z by the
logarithm of the item, and the way back is backpropagation (Eisner 2016, "Inside-outside and
forward-backward algorithms are just backprop"): ``share`` divides the count of an item among its
derivations, in proportion to left[r] right[r]. Whatever the scores, counts never exceed the number
of times that a derivation can use an item, so they need neither logarithms nor scaling.

Give the way as a constant where speed matters: numba then compiles the kernel for it, without the
branches.
"""

from __future__ import annotations

import math

from egparse.compilation import njit
from egparse.structures.logsumexp import NEGLIGIBLE, dot, log_dot
from egparse.types import Floats

PROBABILITY = 0
"""Sums and products of numbers from 0 on."""

LOG = 1
"""The same, of numbers given by their logarithms."""

BEST = 2
"""Maxima of sums."""

FAINT = 1e-40
"""Counts up to this are not passed on: what they stand for is lost in the rounding of everything
else.
"""


@njit
def nothing(way: int) -> float:
    """The neutral element of sums."""
    return 0.0 if way == PROBABILITY else -math.inf


@njit
def unity(way: int) -> float:
    """The neutral element of products."""
    return 1.0 if way == PROBABILITY else 0.0


@njit
def product(left: float, right: float, way: int) -> float:
    """left times right."""
    return left * right if way == PROBABILITY else left + right


@njit
def multiply(left: Floats, right: Floats, way: int) -> None:
    """left[r] becomes left[r] times right[r]."""
    if way == PROBABILITY:
        for r in range(left.size):
            left[r] *= right[r]
    else:
        for r in range(left.size):
            left[r] += right[r]


@njit
def inner(left: Floats, right: Floats, way: int) -> float:
    """The sum of left[r] times right[r]."""
    if way == PROBABILITY:
        return dot(left, right)
    if way == LOG:
        return log_dot(left, right)
    best = -math.inf
    for r in range(left.size):
        value = left[r] + right[r]
        if value > best:
            best = value
    return best


@njit
def share(
    count: float,
    terms: int,
    left: Floats,
    at_left: int,
    right: Floats,
    at_right: int,
    way: int,
    left_counts: Floats,
    right_counts: Floats,
) -> None:
    """Divide the count of an inner product among its terms, adding each share to the counts of both
    of its factors.

    The factors are ``terms`` cells of ``left`` from ``at_left`` on and of ``right`` from
    ``at_right`` on, their counts the same cells of ``left_counts`` and ``right_counts``. Offsets
    instead of slices, and a caller that passes on no count below FAINT: references to slices and
    arguments are counted, which costs as much as short sums do. ``BEST`` gives it all to the first
    of the best terms.
    """
    a, b = left[at_left : at_left + terms], right[at_right : at_right + terms]
    of_a, of_b = left_counts[at_left : at_left + terms], right_counts[at_right : at_right + terms]
    if way == BEST:
        place = 0
        for r in range(1, terms):
            if a[r] + b[r] > a[place] + b[place]:
                place = r
        of_a[place] += count
        of_b[place] += count
    elif way == LOG:
        total = log_dot(a, b)
        for r in range(terms):
            term = a[r] + b[r] - total
            if term > NEGLIGIBLE:
                part = count * math.exp(term)
                of_a[r] += part
                of_b[r] += part
    else:
        factor = count / dot(a, b)
        for r in range(terms):
            part = factor * a[r] * b[r]
            of_a[r] += part
            of_b[r] += part
