"""Percentile bootstrap intervals of F1 scores.

All functions take ``counts[sentence] = (correct, gold, system)`` and look at the F1 of their sums,
F1 = 200 correct / (gold + system) in per cent, which is the accuracy where gold equals system.
Whole sentences are resampled, because the words of a sentence are not independent; or larger units
that hold them, where the sentences are not independent either.

Source: Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from egparse.types import Floats, Longs

DrawWeights = Callable[[np.random.Generator, int, int], Floats]
"""Draws ``weights[resample, sentence]``, given the numbers of resamples and sentences."""

_BLOCK_CELLS = 2_000_000
"""Weights drawn at a time (16 MB): memory does not grow with the corpus or the resamples."""


class Units(NamedTuple):
    """Parts of a corpus that are resampled: ``numbers[sentence]`` ascends from 0; ``name`` is that
    of one.
    """

    name: str
    numbers: Longs


class Interval(NamedTuple):
    """The ends of a confidence interval, in per cent."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2.0


def intervals(
    counts: Mapping[str, Longs], *, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> dict[str, Interval]:
    """A percentile bootstrap interval for each named table of counts, shape (sentences, 3).

    All tables are resampled with the same draws, so that many cost little more than one.

    Raises:
        ValueError: tables of different shapes, no sentences, fewer than one resample, or a level
            outside (0, 1).
    """
    if not counts:
        return {}
    stacked = stack_counts(counts.values())
    draws = resampled_sums(stacked, resamples, np.random.default_rng(seed), multinomial_weights)
    return dict(zip(counts, percentile_intervals(f1_of(draws), level), strict=True))


def of_units(counts: Longs, units: Units | None) -> Longs:
    """The sums of ``counts[sentence]`` in each unit, shape (units, 3); without units the same."""
    if units is None:
        return counts
    sums = np.zeros((int(units.numbers[-1]) + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(sums, units.numbers, counts)
    return sums


def percentile_intervals(draws: Floats, level: float) -> list[Interval]:
    """The interval of each column of ``draws[resample, column]`` that leaves out equal tails.
    Raises ValueError: a level outside (0, 1).
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(draws, [tail, 100.0 - tail], axis=0)
    return [Interval(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]


def stack_counts(tables: Iterable[Longs]) -> Floats:
    """``stacked[sentence, table] = (correct, gold, system)``. Raises ValueError: tables of
    different shapes, or without sentences.
    """
    arrays = list(tables)
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1 or arrays[0].ndim != 2 or arrays[0].shape[1] != 3 or not len(arrays[0]):
        raise ValueError(f"expected tables of one shape (sentences, 3), got {sorted(shapes)}")
    return np.stack(arrays, axis=1).astype(np.float64)


def resampled_sums(
    stacked: Floats, resamples: int, rng: np.random.Generator, draw_weights: DrawWeights
) -> Floats:
    """``sums[resample, ...]``: the weighted sums of ``stacked[sentence, ...]`` over sentences.
    Raises ValueError: fewer than one resample.
    """
    if resamples < 1:
        raise ValueError(f"expected at least one resample, got {resamples}")
    sentences = len(stacked)
    flat = stacked.reshape(sentences, -1)
    block = max(1, _BLOCK_CELLS // sentences)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    sums = np.concatenate([draw_weights(rng, size, sentences) @ flat for size in sizes])
    return sums.reshape(resamples, *stacked.shape[1:])


def multinomial_weights(rng: np.random.Generator, resamples: int, sentences: int) -> Floats:
    """How often each sentence comes up in ``sentences`` draws with replacement.

    Shape (resamples, sentences).
    """
    drawn = rng.integers(0, sentences, size=(resamples, sentences))
    drawn += np.arange(0, resamples * sentences, sentences)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=resamples * sentences)
    return weights.reshape(resamples, sentences).astype(np.float64)


def f1_of(sums: Floats) -> Floats:
    """F1 in per cent of ``sums[..., (correct, gold, system)]``; 0/0 is 0."""
    correct, both = sums[..., 0], sums[..., 1] + sums[..., 2]
    return np.divide(200.0 * correct, both, out=np.zeros_like(correct), where=both > 0)
