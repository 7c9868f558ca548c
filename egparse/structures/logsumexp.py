"""Sums of products, of numbers and of logarithms of numbers (``-inf`` is the logarithm of zero)."""

from __future__ import annotations

import math

from egparse.compilation import njit
from egparse.types import Floats

NEGLIGIBLE = -60.0
"""Terms this many nats below the largest are left out: each is less than 1e-26 of the sum."""


@njit(fast=True)
def dot(left: Floats, right: Floats) -> float:
    """The sum of left[r] right[r].

    Callers pass slices: indices from 0 on let LLVM drop the test for negative ones and vectorise.
    """
    total = 0.0
    for r in range(left.size):
        total += left[r] * right[r]
    return total


@njit
def log_add(left: float, right: float) -> float:
    """log(exp(left) + exp(right))."""
    if left < right:
        left, right = right, left
    difference = right - left if right > -math.inf else -math.inf
    return left + math.log1p(math.exp(difference)) if difference > NEGLIGIBLE else left


@njit
def log_sum(terms: Floats) -> float:
    """The logarithm of the sum of exp(terms)."""
    largest = -math.inf
    for r in range(terms.size):
        largest = max(largest, terms[r])
    if largest == -math.inf:
        return largest
    total = 0.0
    for r in range(terms.size):
        if terms[r] - largest > NEGLIGIBLE:
            total += math.exp(terms[r] - largest)
    return largest + math.log(total)


@njit
def log_dot(left: Floats, right: Floats) -> float:
    """The logarithm of the sum of exp(left + right)."""
    largest = -math.inf
    for r in range(left.size):
        largest = max(largest, left[r] + right[r])
    if largest == -math.inf:
        return largest
    total = 0.0
    for r in range(left.size):
        term = left[r] + right[r] - largest
        if term > NEGLIGIBLE:
            total += math.exp(term)
    return largest + math.log(total)
