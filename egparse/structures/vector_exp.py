"""Exponentials of arrays of numbers at most 0, in loops that vectorise: four times as fast as one
``np.exp`` a number.

exp(x) = 2^k exp(r), k the whole number nearest to x / ln 2, |r| <= ln(2) / 2. Adding 1.5 * 2^52 to
x / ln 2 leaves k in the low bits of the float, from where integer arithmetic moves it into the
exponent. exp(r) is computed as its Taylor polynomial of degree 12, whose error (1e-16) is that of
rounding. ln 2 is subtracted in two parts; the first has so few bits that its product with k is
exact.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats

_LOWEST = -708.0  # exp of less is not a normal number: written as 0
_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6
_ROUNDER = 6755399441055744.0  # 1.5 * 2^52


@njit
def exponentials(scores: Floats, scratch: Floats, out: Floats) -> None:
    """Write exp(scores) to ``out``, for scores <= 0; 0 for scores below -708.

    ``scores``, ``scratch`` and ``out`` must not overlap. Compiled without fast arithmetic, which
    would simplify (t + _ROUNDER) - _ROUNDER to t.
    """
    size = scores.shape[0]
    powers = scratch[:size]
    for c in range(size):
        powers[c] = max(scores[c], _LOWEST) * _PER_LN2 + _ROUNDER
    for c in range(size):
        k = powers[c] - _ROUNDER
        r = (max(scores[c], _LOWEST) - k * _LN2_HIGH) - k * _LN2_LOW
        p = 1.0 / 479001600
        p = p * r + 1.0 / 39916800
        p = p * r + 1.0 / 3628800
        p = p * r + 1.0 / 362880
        p = p * r + 1.0 / 40320
        p = p * r + 1.0 / 5040
        p = p * r + 1.0 / 720
        p = p * r + 1.0 / 120
        p = p * r + 1.0 / 24
        p = p * r + 1.0 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        out[c] = p * r + 1.0
    bits = powers.view(np.int64)
    for c in range(size):
        bits[c] = (bits[c] + 1023) << 52
    for c in range(size):
        out[c] = out[c] * powers[c] if scores[c] > _LOWEST else 0.0


@njit(fast=True)
def subtract_largest(scores: Floats, out: Floats) -> float:
    """Write scores - shift to ``out`` and return the shift: the largest score, or 0 if none is
    finite.
    """
    shift = -np.inf
    for c in range(scores.shape[0]):
        shift = max(shift, scores[c])
    if shift == -np.inf:
        shift = 0.0
    for c in range(scores.shape[0]):
        out[c] = scores[c] - shift
    return shift
