"""How sure a score is: percentile bootstrap intervals, and tests of the difference between two
systems.

All take ``counts[sentence] = (correct, gold, system)`` and look at F1 = 200 correct / (gold +
system) of the sums, per cent, which is the accuracy where gold equals system. Sentences are the
unit that is drawn: their words are not independent.

Source: Efron & Tibshirani (1993), chapters 13 and 15; Noreen (1989), chapter 2, for approximate
randomisation; Koehn (2004) for the paired bootstrap, in the two-sided form that is centred at the
observed difference. p-values count the observed sample itself, so they are never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from egparse.types import Floats, Longs

_BLOCK_CELLS = 2_000_000
"""Resamples are drawn in blocks of at most this many weights (16 MB), whatever the size of the
corpus.
"""

_TOLERANCE = 1e-9
"""Differences of per cent that only rounding makes unequal are ties, which count against the
difference.
"""

Method = Literal["randomisation", "bootstrap"]
_Draw = Callable[[np.random.Generator, int, int], Floats]


class Interval(NamedTuple):
    """The ends of a confidence interval, in per cent."""

    low: float
    high: float


class PairedTest(NamedTuple):
    """The first system's F1 minus the second's in per cent, and the two-sided p-value of no
    difference.
    """

    difference: float
    p_value: float


def intervals(
    counts: Mapping[str, Longs], *, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> dict[str, Interval]:
    """A percentile bootstrap interval for each named table of counts of the same sentences.

    All tables are resampled with the same draws, hence the cost is that of one. Raises ValueError
    for tables of different shapes, no sentences, fewer than one resample, or a level outside (0,
    1).
    """
    if not counts:
        return {}
    if not 0.0 < level < 1.0:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    stacked = _stack(counts.values())
    draws = _resample(stacked, resamples, np.random.default_rng(seed), _multinomial_weights)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(_f1(draws), [tail, 100.0 - tail], axis=0)
    return {name: Interval(float(low[k]), float(high[k])) for k, name in enumerate(counts)}


def paired_test(
    first: Longs,
    second: Longs,
    *,
    method: Method = "randomisation",
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Test whether two systems differ on the same sentences; both tables have shape (sentences, 3).

    ``randomisation`` swaps the systems' outputs sentence by sentence with probability 1/2;
    ``bootstrap`` draws sentences with replacement. Raises ValueError for tables of different
    shapes, no sentences or no resamples.
    """
    stacked = _stack([first, second])
    observed = _difference(stacked.sum(axis=0, keepdims=True))[0]
    rng = np.random.default_rng(seed)
    if method == "bootstrap":
        drawn = _difference(_resample(stacked, resamples, rng, _multinomial_weights)) - observed
    elif method == "randomisation":
        swapped = _resample(stacked, resamples, rng, _coin_weights)
        drawn = _difference(swapped + (stacked.sum(axis=0) - swapped)[:, ::-1])
    else:
        raise ValueError(f"expected method randomisation or bootstrap, got {method!r}")
    extreme = int(np.count_nonzero(np.abs(drawn) >= abs(observed) - _TOLERANCE))
    return PairedTest(float(observed), (1 + extreme) / (1 + resamples))


def _stack(tables: Iterable[Longs]) -> Floats:
    """``stacked[sentence, table] = (correct, gold, system)``, checked."""
    arrays = list(tables)
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 2 or arrays[0].shape[1] != 3 or not len(arrays[0]):
        raise ValueError(f"expected tables of one shape (sentences, 3), got {sorted(shapes)}")
    return np.stack(arrays, axis=1).astype(np.float64)


def _resample(stacked: Floats, resamples: int, rng: np.random.Generator, draw: _Draw) -> Floats:
    """``sums[resample, table] = (correct, gold, system)`` of each resample's weighted sentences."""
    if resamples < 1:
        raise ValueError(f"expected at least one resample, got {resamples}")
    sentences = len(stacked)
    flat = stacked.reshape(sentences, -1)
    block = max(1, _BLOCK_CELLS // sentences)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    sums = np.concatenate([draw(rng, size, sentences) @ flat for size in sizes])
    return sums.reshape(resamples, *stacked.shape[1:])


def _multinomial_weights(rng: np.random.Generator, resamples: int, sentences: int) -> Floats:
    """``weights[resample, sentence]``: how often it comes up in ``sentences`` draws with
    replacement.
    """
    drawn = rng.integers(0, sentences, size=(resamples, sentences))
    drawn += np.arange(0, resamples * sentences, sentences)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=resamples * sentences)
    return weights.reshape(resamples, sentences).astype(np.float64)


def _coin_weights(rng: np.random.Generator, resamples: int, sentences: int) -> Floats:
    """``weights[resample, sentence]``: 1 where the systems keep their outputs, 0 where they swap
    them.
    """
    return rng.integers(0, 2, size=(resamples, sentences), dtype=np.int8).astype(np.float64)


def _difference(sums: Floats) -> Floats:
    scores = _f1(sums)
    difference: Floats = scores[:, 0] - scores[:, 1]
    return difference


def _f1(sums: Floats) -> Floats:
    """F1 in per cent over the last axis; 0/0 is 0."""
    correct, wanted = sums[..., 0], sums[..., 1] + sums[..., 2]
    return np.divide(200.0 * correct, wanted, out=np.zeros_like(correct), where=wanted > 0)
