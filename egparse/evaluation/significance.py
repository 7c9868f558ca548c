"""Comparison of two systems on the same gold sentences: is the difference more than chance?

For each metric, with ``counts[sentence] = (correct, gold, system)`` of both systems and
F1 = 200 correct / (gold + system) of their sums:

    difference   F1 of the first system minus F1 of the second, in per cent
    interval     2.5 % and 97.5 % quantiles of the difference when sentences are resampled with
                 replacement, the same sentences for both systems (paired bootstrap)
    p value      (r + 1) / (n + 1), where r of n random swaps give a difference at least as large,
                 whatever its sign; a swap exchanges the systems' counts in each sentence with
                 probability 1/2 (approximate randomisation, two-sided)

The null hypothesis is that the two outputs of a sentence could as well have come from the other
system. The p value is not corrected for the number of metrics compared. It is never 0: the observed
outputs are one of the possible results of a swap.

Sources: Noreen (1989), *Computer-Intensive Methods for Testing Hypotheses*, chapter 2, and Yeh
(2000), "More accurate tests for the statistical significance of result differences", for the test;
Efron & Tibshirani (1993), chapter 13, Koehn (2004), "Statistical significance tests for machine
translation evaluation", and Berg-Kirkpatrick, Burkett & Klein (2012), "An empirical investigation
of statistical significance in NLP", for the paired bootstrap. They derive a p value from it too;
here it gives the interval only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.bootstrap import (
    Interval,
    f1_of,
    multinomial_weights,
    percentile_intervals,
    resampled_sums,
    stack_counts,
)
from egparse.evaluation.report import Report
from egparse.types import Floats, Longs

_TOLERANCE = 1e-9
"""Differences, in per cent, that are equal but for rounding count as equal."""


class PairedDifference(NamedTuple):
    """One metric of two systems: both F1 and ``first - second`` in per cent, and the p value.

    ``interval`` (95 % unless asked otherwise) and ``p_value`` are None without resamples.
    """

    first: float
    second: float
    difference: float
    interval: Interval | None
    p_value: float | None


def compare_reports(
    first: Report, second: Report, *, resamples: int = 1000, seed: int = 0
) -> dict[str, PairedDifference]:
    """Compare two systems in every metric that both reports have, named and ordered as there.

    Raises:
        EgparseError: reports without a common metric.
        ValueError: reports on gold corpora with different numbers of sentences.
    """
    shared = [name for name in first.by_sentence if name in second.by_sentence]
    if not shared:
        names = (", ".join(report.by_sentence) or "none" for report in (first, second))
        raise EgparseError(f"expected two systems with a common metric, got {' and '.join(names)}")
    return paired_differences(
        {name: first.by_sentence[name] for name in shared},
        {name: second.by_sentence[name] for name in shared},
        resamples=resamples,
        seed=seed,
    )


def paired_differences(
    first: Mapping[str, Longs],
    second: Mapping[str, Longs],
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, PairedDifference]:
    """Compare two systems in every metric, from tables of counts of shape (sentences, 3).

    Both mappings have the same metrics. ``resamples`` is the number of resamples for the intervals
    and that of swaps for the p values; 0 for neither. All metrics share the draws.

    Raises:
        ValueError: different metrics or shapes, no sentences, a negative number of resamples, or a
            level outside (0, 1).
    """
    if first.keys() != second.keys():
        raise ValueError(f"expected the same metrics, got {list(first)} and {list(second)}")
    if not first:
        return {}
    names = list(first)
    tables = [side[name] for side in (first, second) for name in names]
    stacked = stack_counts(tables).reshape(-1, 2, len(names), 3)  # sentence, system, metric, count
    scores = f1_of(stacked.sum(axis=0))
    observed = scores[0] - scores[1]
    between: list[Interval | None] = [None] * len(names)
    p_values: list[float | None] = [None] * len(names)
    if resamples:
        # The seed alone draws as it does for the interval of one system; the swaps draw others.
        resampled = resampled_sums(
            stacked, resamples, np.random.default_rng(seed), multinomial_weights
        )
        between = [*percentile_intervals(_differences(resampled), level)]
        p_values = [*_p_values(stacked, observed, resamples, np.random.default_rng([seed, 1]))]
    columns = scores[0].tolist(), scores[1].tolist(), observed.tolist(), between, p_values
    return {
        name: PairedDifference(*row)
        for name, row in zip(names, zip(*columns, strict=True), strict=True)
    }


def comparison_as_json(compared: Mapping[str, PairedDifference]) -> dict[str, dict[str, Any]]:
    """For each metric ``score``, ``against``, ``difference``, ``interval`` and ``p``."""
    return {
        name: {
            "score": pair.first,
            "against": pair.second,
            "difference": pair.difference,
            "interval": None if pair.interval is None else list(pair.interval),
            "p": pair.p_value,
        }
        for name, pair in compared.items()
    }


def _p_values(
    stacked: Floats, observed: Floats, swaps: int, rng: np.random.Generator
) -> list[float]:
    """The p value of each metric, from ``stacked[sentence, system, metric, count]``."""
    # sum of (kept if coin else swapped) = sum of kept + (sum of all - sum of kept) reversed
    kept = resampled_sums(stacked, swaps, rng, coin_weights)
    exchanged = (stacked.sum(axis=0) - kept)[:, ::-1]
    differences = _differences(kept + exchanged)
    extreme = np.count_nonzero(np.abs(differences) >= np.abs(observed) - _TOLERANCE, axis=0)
    return [(r + 1) / (swaps + 1) for r in extreme.tolist()]


def coin_weights(rng: np.random.Generator, swaps: int, sentences: int) -> Floats:
    """1 where both systems keep their output for a sentence, 0 where they exchange it.

    Shape (swaps, sentences).
    """
    return rng.integers(0, 2, size=(swaps, sentences), dtype=np.int8).astype(np.float64)


def _differences(sums: Floats) -> Floats:
    """``differences[resample, metric]`` of ``sums[resample, system, metric, count]``."""
    scores = f1_of(sums)
    differences: Floats = scores[:, 0] - scores[:, 1]
    return differences
